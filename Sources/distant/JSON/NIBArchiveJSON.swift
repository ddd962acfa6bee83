import KeyedArchive

/// Writes a NIBArchive as JSON with exact values.
///
///     {"nibArchive":1,"coder":9,"classes":[
///     {"name":"NSObject","fallbacks":[]}
///     ],"objects":[
///     {"class":0,"fields":[["UINibTopLevelObjectsKey",{"ref":1}],["x",{"int8":7}]]}
///     ]}
///
/// A value is null, a Boolean, `{"int8":n}` to `{"int64":n}`, `{"float":8 hex}`, `{"double":16 hex}`, `{"data":hex}`, or an
/// object by its place, `{"ref":n}`. A name or key that is not UTF-8 is `{"hex":bytes}`.
struct NIBArchiveJSON {
    private let graph: NIBArchiveGraph
    private let output: ByteOutput
    private let progress: Progress
    private let text: OldText

    init(_ graph: NIBArchiveGraph, output: ByteOutput, progress: Progress) {
        self.graph = graph
        self.output = output
        self.progress = progress
        text = OldText(output)
    }

    mutating func print() throws {
        output.append("{\"nibArchive\":1,\"coder\":\(graph.coderVersion),\"classes\":[\n")
        for (position, type) in graph.classes.enumerated() {
            output.append(position > 0 ? ",\n{\"name\":" : "{\"name\":")
            text.string(type.name)
            output.append(",\"fallbacks\":[\(type.fallbacks.map(String.init).joined(separator: ","))]}")
            try output.check()
        }
        output.append("\n],\"objects\":[\n")
        let objects = graph.objects
        for (position, object) in objects.enumerated() {
            output.append("\(position > 0 ? ",\n" : ""){\"class\":\(object.classIndex),\"fields\":[")
            for (index, field) in object.fields.enumerated() {
                output.append(index > 0 ? ",[" : "[")
                text.string(field.key)
                output.append(",")
                value(field.value)
                output.append("]")
                try output.check()
            }
            output.append("]}")
            progress.show("writing objects", position, of: objects.count)
        }
        output.append("\n]}\n")
        try output.check()
    }

    private func value(_ value: NIBArchiveValue) {
        switch value {
        case .int8(let value): output.append("{\"int8\":\(value)}")
        case .int16(let value): output.append("{\"int16\":\(value)}")
        case .int32(let value): output.append("{\"int32\":\(value)}")
        case .int64(let value): output.append("{\"int64\":\(value)}")
        case .bool(let value): output.append(value ? "true" : "false")
        case .float(let bits): output.append("{\"float\":\"\(OldText.hex(UInt64(bits), digits: 8))\"}")
        case .double(let bits): output.append("{\"double\":\"\(OldText.hex(bits, digits: 16))\"}")
        case .data(let data):
            output.append("{\"data\":\"")
            text.hex(data)
            output.append("\"}")
        case .null: output.append("null")
        case .reference(let object): output.append("{\"ref\":\(object)}")
        }
    }
}
