import KeyedArchive

/// Writes a typedstream as JSON with exact values, from which the same bytes can be made again.
///
///     {"version":4,"order":"little","system":1000,"groups":[
///     {"types":["@"],"values":[{"#":0}]}
///     ],"labels":[
///     {"object":{"class":1,"groups":[{"types":["i","@"],"values":[7,null]}]}},
///     {"class":{"name":"Foo","version":0,"super":null}},
///     {"cstring":"i"}
///     ]}
///
/// `{"#":0}` is an object, class or C string by its label, which is its place in `labels`. Beside numbers, Booleans and
/// null there are `{"f":8 hex}` and `{"d":16 hex}` for floating-point numbers, `{"+":TEXT}` for strings, `{"%":TEXT}` for
/// atoms, `{":":TEXT}` for selectors, `{"bytes":hex,"of":"c"}`, `{"array":[VALUE],"of":type}`,
/// `{"struct":TEXT or null,"fields":[VALUE]}` and `{"!":null}`. An array whose elements take no bytes has their number
/// in place of the list. A TEXT is a string, or `{"hex":bytes}` if it is not in UTF-8.
///
/// What the file stores in another than the usual form stands in front of the groups: `"numbers":[[position,bytes,number]]`,
/// or `[position]` for the bits of a whole number, and `"strings":[[position,number]]`. See `TypedStreamForms`.
struct TypedStreamJSON {
    private let graph: TypedStreamGraph
    private let output: ByteOutput
    private let progress: Progress
    private let text: OldText

    init(_ graph: TypedStreamGraph, output: ByteOutput, progress: Progress) {
        self.graph = graph
        self.output = output
        self.progress = progress
        text = OldText(output)
    }

    mutating func print() throws {
        output.append("{\"version\":4,\"order\":\"\(graph.isBigEndian ? "big" : "little")\"")
        output.append(",\"system\":\(graph.systemVersion)")
        try printForms(graph.forms())
        output.append(",\"groups\":[\n")
        try groups(graph.groups, ",\n")
        output.append("\n],\"labels\":[\n")
        let labels = graph.labels
        for (label, content) in labels.enumerated() {
            if label > 0 { output.append(",\n") }
            try self.label(content)
            try output.check()
            progress.show("writing objects", label, of: labels.count)
        }
        output.append("\n]}\n")
        try output.check()
    }

    private func printForms(_ forms: TypedStreamForms) {
        if !forms.numbers.isEmpty {
            output.append(",\"numbers\":[")
            for (index, number) in forms.numbers.enumerated() {
                let stored = number.stored.map { ",\($0.form.rawValue),\($0.value)" } ?? ""
                output.append("\(index > 0 ? "," : "")[\(number.position)\(stored)]")
            }
            output.append("]")
        }
        guard !forms.strings.isEmpty else { return }
        output.append(",\"strings\":[")
        for (index, string) in forms.strings.enumerated() {
            output.append("\(index > 0 ? "," : "")[\(string.position),\(string.number)]")
        }
        output.append("]")
    }

    private func label(_ content: TypedStreamLabel) throws {
        switch content {
        case .object(let object):
            output.append("{\"object\":{\"class\":\(object.classLabel.map { "\($0)" } ?? "null"),\"groups\":[")
            try groups(object.groups, ",")
            output.append("]}}")
        case .type(let type):
            output.append("{\"class\":{\"name\":")
            text.string(type.name)
            output.append(",\"version\":\(type.version),\"super\":\(type.superclass.map { "\($0)" } ?? "null")}}")
        case .cString(let content):
            output.append("{\"cstring\":")
            text.string(content)
            output.append("}")
        }
    }

    private func groups(_ groups: TypedStreamGroups, _ separator: StaticString) throws {
        var isFirst = true
        for group in groups {
            if !isFirst { output.append(separator) }
            isFirst = false
            output.append("{\"types\":[")
            for (index, type) in group.types.enumerated() {
                if index > 0 { output.append(",") }
                text.characters(type)
            }
            output.append("],\"values\":[")
            try values(group.values)
            output.append("]}")
        }
    }

    private func values(_ values: TypedStreamValues) throws {
        var needsComma = false
        // What closes each open structure and array.
        var open: [ArchivedText?] = []
        for value in values {
            switch value {
            case .endArray:
                output.append("],\"of\":")
                if let type = open.popLast().flatMap(\.self) { text.characters(type) }
                output.append("}")
                needsComma = true
                continue
            case .endStructure:
                open.removeLast()
                output.append("]}")
                needsComma = true
                continue
            default: break
            }
            if needsComma { output.append(",") }
            needsComma = true
            switch value {
            case .array(_, let type):
                output.append("{\"array\":[")
                open.append(type)
                needsComma = false
            case .structure(let name):
                output.append("{\"struct\":")
                text.string(name)
                output.append(",\"fields\":[")
                open.append(nil)
                needsComma = false
            default: leaf(value)
            }
            try output.check()
        }
    }

    private func leaf(_ value: TypedStreamValue) {
        switch value {
        case .null: output.append("null")
        case .nothing: output.append("{\"!\":null}")
        case .bool(let value): output.append(value ? "true" : "false")
        case .integer(let value): output.append("\(value)")
        case .unsigned(let value): output.append("\(value)")
        case .float(let bits): output.append("{\"f\":\"\(OldText.hex(UInt64(bits), digits: 8))\"}")
        case .double(let bits): output.append("{\"d\":\"\(OldText.hex(bits, digits: 16))\"}")
        case .text(let text): member("{\"+\":", text)
        case .atom(let text): member("{\"%\":", text)
        case .selector(let text): member("{\":\":", text)
        case .label(let label): output.append("{\"#\":\(label)}")
        case .bytes(let bytes, let isSigned):
            output.append("{\"bytes\":\"")
            text.hex(bytes)
            output.append(isSigned ? "\",\"of\":\"c\"}" : "\",\"of\":\"C\"}")
        case .emptyArray(let count, let type):
            output.append("{\"array\":\(count == 0 ? "[]" : "\(count)"),\"of\":")
            text.characters(type)
            output.append("}")
        case .array, .endArray, .structure, .endStructure: break
        }
    }

    private func member(_ name: StaticString, _ content: ArchivedText?) {
        output.append(name)
        text.string(content)
        output.append("}")
    }
}
