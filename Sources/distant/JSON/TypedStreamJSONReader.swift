import KeyedArchive

/// Makes a typedstream from the JSON that `TypedStreamJSON` writes.
struct TypedStreamJSONReader {
    private typealias Problem = JSONDocument.Problem

    /// Values that are being read.
    private struct Frame {
        enum Kind {
            /// The groups of an object, whose values go on in `type` at `at` afterwards.
            case groups(type: [UInt8], at: Int)
            /// The groups that belong to no object.
            case topGroups
            case values
            case structure
            /// - Parameter element: The place of the element's encoding.
            case array(element: Int, remaining: Int)
        }

        var kind: Kind
        /// The next value, and the first one behind.
        var next: Int
        let end: Int
    }

    private let document: JSONDocument
    private var labels: [Int]
    private var nextLabel = 0
    private var writer: TypedStreamWriter
    private var frames: [Frame] = []
    /// The type string of the group, and the place of the next encoding.
    private var type: [UInt8] = []
    private var at = 0

    /// The bytes of a typedstream.
    ///
    /// - Parameter isMade: Whether the text was made from a property list, so that its positions mean nothing.
    static func bytes(from text: [UInt8], isMade: Bool = false, progress: Progress) throws -> [UInt8] {
        let document: JSONDocument
        do { document = try JSONDocument(text) } catch let problem as JSONDocument.Problem {
            throw ArchiveError(.corrupt, "\(problem.message), at byte \(problem.position) of the JSON")
        }
        do {
            var reader = try TypedStreamJSONReader(document)
            defer { reader.writer.deallocate() }
            try reader.run(progress)
            guard !reader.writer.hasUnusedForms else {
                throw reader.document.problem(
                    "“numbers” or “strings” has a position that is not in the file, or not behind the one before",
                    at: JSONDocument.root)
            }
            return Array(reader.writer.bytes)
        } catch let problem as JSONDocument.Problem {
            let path = document.path(to: problem.position)
            let byte = isMade ? "" : "byte \(problem.position) of the JSON"
            let place = [path, byte].filter { !$0.isEmpty }.joined(separator: ", ")
            throw ArchiveError(.corrupt, problem.message + (place.isEmpty ? "" : ", at \(place)"))
        }
    }

    private init(_ document: JSONDocument) throws {
        self.document = document
        let root = JSONDocument.root
        guard let version = document.member(root, "version").flatMap(document.integer), version == 4,
            let order = document.member(root, "order").flatMap(document.string),
            let system = document.member(root, "system").flatMap(document.integer),
            let groups = document.member(root, "groups"), document.isArray(groups),
            let list = document.member(root, "labels"), document.isArray(list)
        else {
            throw Problem(
                message: "expected the JSON of a typedstream, with version 4, order, system, groups and labels",
                position: 0)
        }
        try document.expectOnly(
            ["version", "order", "system", "numbers", "strings", "groups", "labels"], in: root)
        labels = document.elements(list)
        let isBigEndian = order == Array("big".utf8)
        guard isBigEndian || order == Array("little".utf8) else {
            throw document.problem("expected the order “big” or “little”", at: root)
        }
        writer = TypedStreamWriter(isBigEndian: isBigEndian, forms: try Self.forms(document))
        writer.number(system)
        if let problem = writer.formProblem { throw document.problem(problem, at: root) }
        frames = [Frame(kind: .topGroups, next: groups + 1, end: document.next(groups))]
    }

    private static func forms(_ document: JSONDocument) throws -> TypedStreamForms {
        var forms = TypedStreamForms()
        func lists(_ name: StaticString) throws -> [(node: Int, values: [Int64])] {
            let list = document.member(JSONDocument.root, name).map(document.elements) ?? []
            return try list.map { node in
                let values = try document.elements(node).map { element in
                    guard let value = document.integer(element) else {
                        throw document.problem("expected an integer of at most 64 bits", at: element)
                    }
                    return value
                }
                return (node, values)
            }
        }
        for (node, values) in try lists("numbers") {
            switch values.count {
            case 1: forms.numbers.append(.init(position: Int(values[0]), stored: nil))
            case 3:
                guard let size = UInt8(exactly: values[1]), let form = TypedStreamNumber.Form(rawValue: size) else {
                    fallthrough
                }
                forms.numbers.append(.init(position: Int(values[0]), stored: TypedStreamNumber(values[2], form)))
            default: throw document.problem("expected a position, a size and a number", at: node)
            }
        }
        for (node, values) in try lists("strings") {
            guard values.count == 2, values[1] >= 0 else {
                throw document.problem("expected a position and a number", at: node)
            }
            forms.strings.append(.init(position: Int(values[0]), number: Int(values[1])))
        }
        return forms
    }

    // MARK: Groups

    private mutating func run(_ progress: Progress) throws {
        while let last = frames.indices.last {
            let frame = frames[last]
            guard frame.next < frame.end else {
                try end(frame)
                continue
            }
            frames[last].next = document.next(frame.next)
            switch frame.kind {
            case .groups, .topGroups: try group(frame.next)
            case .values, .structure: try value(frame.next)
            case .array(let element, let remaining):
                frames[last].kind = .array(element: element, remaining: remaining - 1)
                at = element
                try value(frame.next)
            }
            if let problem = writer.formProblem { throw document.problem(problem, at: frame.next) }
            progress.show("writing objects", nextLabel, of: labels.count)
        }
        guard nextLabel == labels.count else {
            throw document.problem("no value refers to this label", at: labels[nextLabel])
        }
    }

    private mutating func end(_ frame: Frame) throws {
        frames.removeLast()
        switch frame.kind {
        case .topGroups: break
        case .groups(let type, let at):
            writer.endObject()
            (self.type, self.at) = (type, at)
        case .values:
            guard at == type.count else { throw problem("expected as many values as the group has types", frame) }
        case .structure:
            guard at < type.count, type[at] == UInt8(ascii: "}") else {
                throw problem("expected as many fields as the structure's type has", frame)
            }
            at += 1
        case .array(let element, let remaining):
            guard remaining == 0 else { throw problem("expected as many elements as the array's type says", frame) }
            // Behind the last element is the bracket; an array of none has its encoding still before it.
            if at == element { at = TypedStreamJSONType.end(ofEncodingIn: type, at: element) }
            at += 1
        }
    }

    private func problem(_ message: String, _ frame: Frame) -> JSONDocument.Problem {
        document.problem(message, at: max(frame.end - 1, 0))
    }

    private mutating func group(_ node: Int) throws {
        guard let types = document.member(node, "types"), document.isArray(types),
            let values = document.member(node, "values"), document.isArray(values)
        else { throw document.problem("expected a group, with types and values", at: node) }
        try document.expectOnly(["types", "values"], in: node)
        type = []
        for element in document.elements(types) {
            guard let encoding = document.string(element) else {
                throw document.problem("expected an encoding", at: element)
            }
            type += try document.latin1(encoding, element)
        }
        at = 0
        type.withUnsafeBytes { writer.sharedString($0) }
        frames.append(Frame(kind: .values, next: values + 1, end: document.next(values)))
    }

    // MARK: Values

    private mutating func value(_ node: Int) throws {
        guard at < type.count else { throw document.problem("expected no more values than types", at: node) }
        let encoding = type[at]
        at += 1
        switch encoding {
        case UInt8(ascii: "{"): try structure(node)
        case UInt8(ascii: "["): try array(node)
        case UInt8(ascii: "@"), UInt8(ascii: "#"), UInt8(ascii: "*"): try label(node)
        case UInt8(ascii: "+"):
            guard !document.isNull(node) else { return writer.null() }
            try document.expectOnly(["+"], in: node)
            try document.typedStreamText(document.member(node, "+"), node).withUnsafeBytes { writer.text($0) }
        case UInt8(ascii: "%"): try name("%", node)
        case UInt8(ascii: ":"): try name(":", node)
        case UInt8(ascii: "!"):
            guard let value = document.member(node, "!"), document.isNull(value) else {
                throw document.problem("expected {\"!\": null}, a value without bytes", at: node)
            }
            try document.expectOnly(["!"], in: node)
        case UInt8(ascii: "f"): writer.float(bits: UInt32(truncatingIfNeeded: try document.bits(node, "f", digits: 8)))
        case UInt8(ascii: "d"): writer.double(bits: try document.bits(node, "d", digits: 16))
        case UInt8(ascii: "B"):
            guard case .bool(let value) = document.kind(node) else {
                throw document.problem("expected true or false", at: node)
            }
            writer.byte(value ? 1 : 0)
        default:
            guard let range = TypedStreamJSONType.range(of: encoding) else {
                throw document.problem("expected a type of a typedstream, found \(Self.name(encoding))", at: node)
            }
            guard let value = document.wideInteger(node), range.contains(value) else {
                throw document.problem(
                    "expected an integer from \(range.lowerBound) to \(range.upperBound), as the type "
                        + "\(Self.name(encoding)) has", at: node)
            }
            if encoding == UInt8(ascii: "c") || encoding == UInt8(ascii: "C") {
                writer.byte(UInt8(truncatingIfNeeded: value))
            } else {
                writer.integer(Int64(truncatingIfNeeded: value), encoding)
            }
        }
    }

    private static func name(_ encoding: UInt8) -> String { "“\(Character(UnicodeScalar(encoding)))”" }

    private mutating func structure(_ node: Int) throws {
        guard let fields = document.member(node, "fields"), document.isArray(fields) else {
            throw document.problem("expected the fields of a structure", at: node)
        }
        try document.expectOnly(["struct", "fields"], in: node)
        let start = at
        at = TypedStreamJSONType.fields(in: type, at: start)
        // The name is followed by “=”.
        let name = at > start ? Array(type[start..<at - 1]) : nil
        let given = try document.member(node, "struct").flatMap {
            document.isNull($0) ? nil : try document.typedStreamText($0, node)
        }
        guard given == name else {
            let expected = name.map { "the name “\(String(decoding: $0, as: UTF8.self))”" } ?? "no name (null)"
            throw document.problem("expected \(expected) of the structure, as its type has", at: node)
        }
        frames.append(Frame(kind: .structure, next: fields + 1, end: document.next(fields)))
    }

    private mutating func array(_ node: Int) throws {
        var count = 0
        while at < type.count, (0x30...0x39).contains(type[at]), count < 1 << 40 {
            count = count * 10 + Int(type[at] & 0xF)
            at += 1
        }
        if let bytes = document.member(node, "bytes") {
            try document.expectOnly(["bytes", "of"], in: node)
            try expectElement(node)
            guard at < type.count, type[at] == UInt8(ascii: "c") || type[at] == UInt8(ascii: "C") else {
                throw document.problem("expected an array of the type of the group, found bytes", at: node)
            }
            let content = try document.hex(bytes)
            guard content.count == count else { throw document.problem("expected \(count) bytes", at: bytes) }
            content.withUnsafeBytes { writer.raw($0) }
            at += 2
            return
        }
        guard let elements = document.member(node, "array") else {
            throw document.problem("expected an array", at: node)
        }
        try document.expectOnly(["array", "of"], in: node)
        try expectElement(node)
        guard !document.isArray(elements) else {
            frames.append(
                Frame(kind: .array(element: at, remaining: count), next: elements + 1, end: document.next(elements)))
            return
        }
        // Only the number of elements that take no bytes.
        guard document.wideInteger(elements) == Int128(count) else {
            throw document.problem("expected the elements of an array, or their number, \(count)", at: elements)
        }
        guard count == 0 || TypedStreamJSONType.isNothing(type, at: at) else {
            throw document.problem(
                "expected the elements of an array, which take bytes, found their number", at: elements)
        }
        at = TypedStreamJSONType.end(ofEncodingIn: type, at: at) + 1
    }

    /// Checks that “of” is the encoding of the array's elements, which begins here.
    private func expectElement(_ node: Int) throws {
        guard let value = document.member(node, "of") else {
            throw document.problem("expected the type of the elements under “of”", at: node)
        }
        let given = try document.string(value).map { try document.latin1($0, value) } ?? []
        let end = at + given.count
        guard end < type.count, type[end] == UInt8(ascii: "]"), type[at..<end].elementsEqual(given) else {
            throw document.problem("expected the type of the elements as the type of the group has it", at: value)
        }
    }

    private mutating func name(_ key: StaticString, _ node: Int) throws {
        try document.expectOnly([key], in: node)
        let value = document.member(node, key)
        if let value, document.isNull(value) { return writer.null() }
        try document.typedStreamText(value, node).withUnsafeBytes { writer.sharedString($0) }
    }

    // MARK: Labels

    private mutating func label(_ node: Int) throws {
        if document.isNull(node) { return writer.null() }
        guard let label = document.member(node, "#").flatMap(document.integer).map({ Int($0) }) else {
            throw document.problem("expected a label or null", at: node)
        }
        try document.expectOnly(["#"], in: node)
        guard label == nextLabel, label < labels.count else { return try reference(label, node) }
        let content = labels[label]
        guard document.members(content).count == 1 else {
            throw document.problem("expected one of object, class and cstring", at: content)
        }
        if let object = document.member(content, "object") { return try self.object(object) }
        if document.member(content, "class") != nil { return try classes(label, node) }
        guard let string = document.member(content, "cstring") else {
            throw document.problem("expected an object, class or C string", at: content)
        }
        nextLabel += 1
        writer.new()
        try document.typedStreamText(string, content).withUnsafeBytes { writer.sharedString($0) }
    }

    private mutating func reference(_ label: Int, _ node: Int) throws {
        guard label >= 0 && label < nextLabel else {
            throw document.problem("expected the label \(nextLabel) or one before, found \(label)", at: node)
        }
        writer.reference(label)
    }

    private mutating func object(_ object: Int) throws {
        guard let type = document.member(object, "class"), let groups = document.member(object, "groups"),
            document.isArray(groups)
        else { throw document.problem("expected an object, with class and groups", at: object) }
        try document.expectOnly(["class", "groups"], in: object)
        nextLabel += 1
        writer.new()
        if document.isNull(type) {
            writer.null()
        } else {
            try classes(document.integer(type).map { Int($0) } ?? -1, type)
        }
        frames.append(
            Frame(kind: .groups(type: self.type, at: at), next: groups + 1, end: document.next(groups)))
    }

    /// A class and its superclasses, up to the first that was written before.
    private mutating func classes(_ first: Int, _ node: Int) throws {
        var label = first
        while label == nextLabel, label < labels.count {
            guard let content = document.member(labels[label], "class"), let name = document.member(content, "name"),
                let version = document.member(content, "version").flatMap(document.integer),
                let superclass = document.member(content, "super")
            else { throw document.problem("expected a class, with name, version and super", at: labels[label]) }
            try document.expectOnly(["class"], in: labels[label])
            try document.expectOnly(["name", "version", "super"], in: content)
            nextLabel += 1
            writer.new()
            try document.typedStreamText(name, content).withUnsafeBytes { writer.sharedString($0) }
            writer.number(version)
            if document.isNull(superclass) { return writer.null() }
            label = document.integer(superclass).map { Int($0) } ?? -1
        }
        try reference(label, node)
    }
}
