import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The property list with the same content as the JSON of one of Apple's older archives.
///
/// Both are one tree, so that a file in either form becomes the other, and only the JSON has a reader. These forms differ:
///
///     JSON                        property list
///     null                        an empty dictionary
///     hexadecimal digits under    data
///     bytes, hex, data
///     hexadecimal digits under    a real of four or eight bytes
///     f, float, d, double
enum PropertyListJSON {
    /// What a string under some key is in a property list.
    private enum Form {
        case data
        case float
        case double

        init?(_ key: some Collection<UInt8>) {
            switch String(decoding: key, as: UTF8.self) {
            case "bytes", "hex", "data": self = .data
            case "f", "float": self = .float
            case "d", "double": self = .double
            default: return nil
            }
        }
    }

    // MARK: To a property list

    /// The most JSON of which a property list is made, as that has to be in memory as a whole.
    ///
    /// Archives with many objects become ten times as long. What becomes longer has values of hardly any bytes.
    static func longest(fileSize: Int) -> Int { (8 << 20) + 20 * fileSize }

    /// Writes the property list of a JSON text that this tool made.
    static func write(
        _ json: [UInt8], isXML: Bool, limits: ArchiveLimits, to receiver: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        do {
            let document = try JSONDocument(json)
            var builder = PlainPropertyListBuilder(limits: limits)
            // Containers come before what they contain. So the last is made first, and has its number when it is needed.
            var numbers: [UInt32] = Array(repeating: 0, count: document.count)
            for node in (0..<document.count).reversed() {
                switch document.kind(node) {
                case .array:
                    var elements: [UInt32] = []
                    for element in document.elements(node) {
                        elements.append(try Self.number(element, nil, document, numbers, &builder))
                    }
                    numbers[node] = try builder.array(elements)
                case .object:
                    var content: [UInt32] = []
                    for (key, value) in document.members(node) {
                        let name = document.string(key) ?? []
                        content.append(try builder.string(name))
                        content.append(try Self.number(value, Form(name), document, numbers, &builder))
                    }
                    numbers[node] = try builder.dictionary(inTurn: content)
                default: break
                }
            }
            let top = try number(JSONDocument.root, nil, document, numbers, &builder)
            try builder.finish(top: top, isXML: isXML, to: receiver)
        } catch let problem as JSONDocument.Problem {
            throw ArchiveError(.corrupt, "\(problem.message), at byte \(problem.position) of the JSON")
        }
    }

    private static func number(
        _ node: Int, _ form: Form?, _ document: JSONDocument, _ numbers: [UInt32],
        _ builder: inout PlainPropertyListBuilder
    ) throws -> UInt32 {
        switch document.kind(node) {
        case .array, .object: return numbers[node]
        case .null: return try builder.dictionary(inTurn: [])
        case .bool(let value): return try builder.bool(value)
        case .number:
            guard let value = document.wideInteger(node) else {
                throw document.problem("expected an integer", at: node)
            }
            return try builder.integer(value)
        case .string:
            let text = document.string(node) ?? []
            switch form {
            case nil: return try builder.string(text)
            case .data?: return try builder.data(try document.hex(node))
            case .float?: return try builder.float(bits: UInt32(truncatingIfNeeded: try bits(text, node, document)))
            case .double?: return try builder.double(bits: try bits(text, node, document))
            }
        }
    }

    private static func bits(_ text: [UInt8], _ node: Int, _ document: JSONDocument) throws -> UInt64 {
        guard let bits = UInt64(String(decoding: text, as: UTF8.self), radix: 16) else {
            throw document.problem("expected hexadecimal digits", at: node)
        }
        return bits
    }

    // MARK: From a property list

    /// The JSON of a property list.
    ///
    /// No array or dictionary may be in two places, as nothing writes such a property list of an archive: a few could stand
    /// for millions of values. Strings may be.
    /// - Parameter limit: The most bytes.
    static func json(_ list: PlainPropertyList, limit: Int) throws -> [UInt8] {
        var text: [UInt8] = []
        var places: [(container: Int, next: Int, count: Int, isDictionary: Bool)] = []
        var opened: [Bool] = []
        func open(_ number: Int, _ count: Int, isDictionary: Bool) throws {
            places.append((number, 0, count, isDictionary))
            guard count > 0 else { return }
            if number >= opened.count {
                opened += repeatElement(false, count: max(number + 1 - opened.count, opened.count))
            }
            guard !opened[number] else {
                throw ArchiveError(
                    .corrupt, "an array or dictionary in two places, which the property list of such an archive has not"
                )
            }
            opened[number] = true
        }
        func begin(_ number: Int, _ form: Form?) throws {
            switch list.content(number) {
            case .array(let count):
                text.append(UInt8(ascii: "["))
                try open(number, count, isDictionary: false)
            case .dictionary(0): text += "null".utf8
            case .dictionary(let count):
                text.append(UInt8(ascii: "{"))
                try open(number, count, isDictionary: true)
            case let leaf: try append(leaf, form, to: &text)
            }
        }
        try begin(list.top, nil)
        while let last = places.last {
            guard text.count <= limit else {
                throw ArchiveError(.limit, "values shared so often that they are too large")
            }
            guard last.next < last.count else {
                text.append(last.isDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                places.removeLast()
                continue
            }
            places[places.count - 1].next += 1
            if last.next > 0 { text.append(UInt8(ascii: ",")) }
            var form: Form?
            if last.isDictionary {
                guard let key = list.key(last.container, last.next) else { throw broken() }
                JSONText.append(key, to: &text)
                text.append(UInt8(ascii: ":"))
                form = Form(Array(key.utf8))
            }
            try begin(list.element(last.container, last.next), form)
        }
        return text
    }

    private static func append(_ leaf: PlainPropertyList.Content, _ form: Form?, to text: inout [UInt8]) throws {
        switch leaf {
        case .null, .array, .dictionary: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += "\(value)".utf8
        case .float(let bits):
            let wide = Double(Float(bitPattern: bits)).bitPattern
            text += (form == .double ? digits(wide, 16) : digits(UInt64(bits), 8)).utf8
        case .double(let bits):
            let short = UInt64(Float(Double(bitPattern: bits)).bitPattern)
            text += (form == .float ? digits(short, 8) : digits(bits, 16)).utf8
        case .string(let string):
            guard let string else { throw broken() }
            JSONText.append(string, to: &text)
        case .data(let data):
            text.append(UInt8(ascii: "\""))
            for byte in data {
                text.append(JSONText.digits[Int(byte >> 4)])
                text.append(JSONText.digits[Int(byte & 0xF)])
            }
            text.append(UInt8(ascii: "\""))
        case .other:
            throw ArchiveError(.corrupt, "a date or a reference, which the property list of such an archive has not")
        }
    }

    private static func digits(_ bits: UInt64, _ count: Int) -> String { "\"\(OldText.hex(bits, digits: count))\"" }

    private static func broken() -> ArchiveError {
        ArchiveError(.corrupt, "a string with half a character, which the property list of such an archive has not")
    }
}
