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
            let path = isMade ? document.path(to: problem.position) : ""
            let place = isMade ? path.isEmpty ? "" : ", at \(path)" : ", at byte \(problem.position) of the JSON"
            throw ArchiveError(.corrupt, problem.message + place)
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
        func lists(_ name: StaticString) -> [(node: Int, values: [Int64])] {
            let list = document.member(JSONDocument.root, name).map(document.elements) ?? []
            return list.map { ($0, document.elements($0).compactMap(document.integer)) }
        }
        for (node, values) in lists("numbers") {
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
        for (node, values) in lists("strings") {
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
            at = try Self.end(ofEncodingIn: type, at: element).map { $0 + 1 } ?? type.count
        }
    }

    private func problem(_ message: String, _ frame: Frame) -> JSONDocument.Problem {
        document.problem(message, at: max(frame.end - 1, 0))
    }

    private mutating func group(_ node: Int) throws {
        guard let types = document.member(node, "types"), document.isArray(types),
            let values = document.member(node, "values"), document.isArray(values)
        else { throw document.problem("expected a group, with types and values", at: node) }
        type = []
        for element in document.elements(types) {
            guard let encoding = document.string(element) else {
                throw document.problem("expected an encoding", at: element)
            }
            // Each character is a byte.
            type += String(decoding: encoding, as: UTF8.self).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
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
            try text(document.member(node, "+"), node).withUnsafeBytes { writer.text($0) }
        case UInt8(ascii: "%"): try name(document.member(node, "%"), node)
        case UInt8(ascii: ":"): try name(document.member(node, ":"), node)
        case UInt8(ascii: "!"): break
        case UInt8(ascii: "f"): writer.float(bits: UInt32(truncatingIfNeeded: try bits(node, "f", digits: 8)))
        case UInt8(ascii: "d"): writer.double(bits: try bits(node, "d", digits: 16))
        case UInt8(ascii: "B"):
            guard case .bool(let value) = document.kind(node) else {
                throw document.problem("expected true or false", at: node)
            }
            writer.byte(value ? 1 : 0)
        default:
            guard let value = document.integer(node) else { throw document.problem("expected an integer", at: node) }
            if encoding == UInt8(ascii: "c") || encoding == UInt8(ascii: "C") {
                writer.byte(UInt8(truncatingIfNeeded: value))
            } else {
                writer.integer(value, encoding)
            }
        }
    }

    private mutating func structure(_ node: Int) throws {
        guard let fields = document.member(node, "fields"), document.isArray(fields) else {
            throw document.problem("expected the fields of a structure", at: node)
        }
        at = Self.fields(in: type, at: at)
        frames.append(Frame(kind: .structure, next: fields + 1, end: document.next(fields)))
    }

    private mutating func array(_ node: Int) throws {
        var count = 0
        while at < type.count, (0x30...0x39).contains(type[at]), count < 1 << 40 {
            count = count * 10 + Int(type[at] & 0xF)
            at += 1
        }
        if let bytes = document.member(node, "bytes") {
            let content = try document.hex(bytes)
            guard content.count == count else { throw document.problem("expected \(count) bytes", at: bytes) }
            content.withUnsafeBytes { writer.raw($0) }
            at += 2
            return
        }
        guard let elements = document.member(node, "array") else {
            throw document.problem("expected an array", at: node)
        }
        guard document.isArray(elements) else {
            // Only the number of elements that take no bytes.
            at = try Self.end(ofEncodingIn: type, at: at).map { $0 + 1 } ?? type.count
            return
        }
        frames.append(
            Frame(kind: .array(element: at, remaining: count), next: elements + 1, end: document.next(elements)))
    }

    private mutating func name(_ value: Int?, _ node: Int) throws {
        if let value, document.isNull(value) { return writer.null() }
        try text(value, node).withUnsafeBytes { writer.sharedString($0) }
    }

    // MARK: Labels

    private mutating func label(_ node: Int) throws {
        if document.isNull(node) { return writer.null() }
        guard let label = document.member(node, "#").flatMap(document.integer).map({ Int($0) }) else {
            throw document.problem("expected a label or null", at: node)
        }
        guard label == nextLabel, label < labels.count else { return try reference(label, node) }
        let content = labels[label]
        if let object = document.member(content, "object") { return try self.object(object) }
        if document.member(content, "class") != nil { return try classes(label, node) }
        guard let string = document.member(content, "cstring") else {
            throw document.problem("expected an object, class or C string", at: content)
        }
        nextLabel += 1
        writer.new()
        try text(string, content).withUnsafeBytes { writer.sharedString($0) }
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
            nextLabel += 1
            writer.new()
            try text(name, content).withUnsafeBytes { writer.sharedString($0) }
            writer.number(version)
            if document.isNull(superclass) { return writer.null() }
            label = document.integer(superclass).map { Int($0) } ?? -1
        }
        try reference(label, node)
    }

    // MARK: Text

    private func text(_ value: Int?, _ node: Int) throws -> [UInt8] {
        guard let value else { throw document.problem("expected a text", at: node) }
        if let hex = document.member(value, "hex") { return try document.hex(hex) }
        guard let text = document.string(value) else { throw document.problem("expected a text", at: value) }
        return text
    }

    private func bits(_ node: Int, _ name: StaticString, digits: Int) throws -> UInt64 {
        guard let text = document.member(node, name).flatMap(document.string), text.count == digits,
            let bits = UInt64(String(decoding: text, as: UTF8.self), radix: 16)
        else { throw document.problem("expected {\"\(name)\": \(digits) hexadecimal digits}", at: node) }
        return bits
    }

    // MARK: Types

    /// Where the fields of a structure begin, behind its name.
    private static func fields(in type: [UInt8], at start: Int) -> Int {
        let stops = [UInt8(ascii: "="), UInt8(ascii: "{"), UInt8(ascii: "}")]
        guard let stop = type[start...].firstIndex(where: stops.contains), type[stop] == stops[0] else { return start }
        return stop + 1
    }

    /// Where the encoding that begins there ends; nil if it does not.
    private static func end(ofEncodingIn type: [UInt8], at start: Int) throws -> Int? {
        var depth = 0
        var at = start
        while at < type.count {
            switch type[at] {
            case UInt8(ascii: "{"):
                depth += 1
                at = fields(in: type, at: at + 1)
                continue
            case UInt8(ascii: "["):
                depth += 1
                at += 1
                while at < type.count, (0x30...0x39).contains(type[at]) { at += 1 }
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            at += 1
            if depth <= 0 { return at }
        }
        return nil
    }
}
