/// A JSON text that was checked, with the places of its values.
///
/// Each value takes eight bytes beside the text, and values may be nested to any depth.
struct JSONDocument {
    /// What is wrong with a text, and where.
    struct Problem: Error {
        let message: String
        let position: Int
    }

    enum Kind {
        case null
        case bool(Bool)
        case number
        case string
        case array
        case object
    }

    /// A value, or a key of an object.
    private struct Node {
        let start: UInt32
        /// The first node that is not inside of this one.
        var next: UInt32
    }

    private let text: [UInt8]
    private var nodes: [Node] = []
    private var at = 0

    /// The place of the outermost value.
    static let root = 0

    init(_ text: [UInt8]) throws {
        self.text = text
        guard text.count < Int(UInt32.max) else { throw Problem(message: "more than 4 GiB of JSON", position: 0) }
        try parse()
    }

    /// The number of values and keys, which are numbered in the order of the text.
    var count: Int { nodes.count }

    // MARK: Values

    func kind(_ node: Int) -> Kind {
        switch text[Int(nodes[node].start)] {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "t"): .bool(true)
        case UInt8(ascii: "f"): .bool(false)
        default: .number
        }
    }

    func isArray(_ node: Int) -> Bool { if case .array = kind(node) { true } else { false } }

    func isNull(_ node: Int) -> Bool { if case .null = kind(node) { true } else { false } }

    /// The first node behind a value.
    func next(_ node: Int) -> Int { Int(nodes[node].next) }

    /// The nodes of the elements of an array.
    func elements(_ node: Int) -> [Int] {
        guard isArray(node) else { return [] }
        var elements: [Int] = []
        var element = node + 1
        while element < next(node) {
            elements.append(element)
            element = next(element)
        }
        return elements
    }

    /// The members of an object: their keys and values.
    func members(_ node: Int) -> [(key: Int, value: Int)] {
        guard case .object = kind(node) else { return [] }
        var members: [(key: Int, value: Int)] = []
        var key = node + 1
        while key < next(node) {
            members.append((key, key + 1))
            key = next(key + 1)
        }
        return members
    }

    /// The value of a member of an object.
    func member(_ node: Int, _ name: StaticString) -> Int? {
        guard case .object = kind(node) else { return nil }
        var key = node + 1
        while key < next(node) {
            if isKey(key, name) { return key + 1 }
            key = next(key + 1)
        }
        return nil
    }

    func isKey(_ node: Int, _ name: StaticString) -> Bool {
        let start = Int(nodes[node].start) + 1
        let end = start + name.utf8CodeUnitCount
        guard end < text.count, text[end] == UInt8(ascii: "\"") else { return false }
        return text[start..<end].elementsEqual(
            UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    func problem(_ message: String, at node: Int) -> Problem {
        Problem(message: message, position: Int(nodes[node].start))
    }

    /// An integer of at most 64 bits.
    func integer(_ node: Int) -> Int64? { wideInteger(node).flatMap { Int64(exactly: $0) } }

    /// An integer of any size; nil for a number with a fraction or an exponent.
    func wideInteger(_ node: Int) -> Int128? {
        guard case .number = kind(node) else { return nil }
        let digits = text[Int(nodes[node].start)...].prefix { "0123456789+-.eE".utf8.contains($0) }
        return digits.count <= 40 ? Int128(String(decoding: digits, as: UTF8.self)) : nil
    }

    /// The bytes of a string of hexadecimal digits.
    func hex(_ node: Int) throws -> [UInt8] {
        guard let text = string(node), text.count % 2 == 0 else {
            throw problem("expected bytes in hexadecimal", at: node)
        }
        return try stride(from: 0, to: text.count, by: 2).map {
            guard let high = Self.digit(text[$0]), let low = Self.digit(text[$0 + 1]) else {
                throw problem("expected bytes in hexadecimal", at: node)
            }
            return high << 4 | low
        }
    }

    /// Where a position of the text is in the values: `labels[3].object.groups`.
    ///
    /// - Complexity: Linear in the number of values beside those that lead there.
    func path(to position: Int) -> String {
        var path = ""
        var node = Self.root
        while true {
            var last: (step: String, node: Int)?
            if isArray(node) {
                for (index, element) in elements(node).enumerated() {
                    guard Int(nodes[element].start) <= position else { break }
                    last = ("[\(index)]", element)
                }
            } else {
                for member in members(node) {
                    guard Int(nodes[member.value].start) <= position else { break }
                    let name = String(decoding: string(member.key) ?? [], as: UTF8.self)
                    last = ("\(path.isEmpty ? "" : ".")\(PlainText.name(name))", member.value)
                }
            }
            guard let last else { return path }
            path += last.step
            node = last.node
        }
    }

    /// The UTF-8 of a string.
    func string(_ node: Int) -> [UInt8]? {
        guard case .string = kind(node) else { return nil }
        var result: [UInt8] = []
        var position = Int(nodes[node].start) + 1
        while text[position] != UInt8(ascii: "\"") {
            guard text[position] == UInt8(ascii: "\\") else {
                result.append(text[position])
                position += 1
                continue
            }
            position += 2
            switch text[position - 1] {
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "u"):
                var units = [unit(position)]
                position += 4
                if units[0] & 0xFC00 == 0xD800, text[position] == UInt8(ascii: "\\"),
                    text[position + 1] == UInt8(ascii: "u")
                {
                    units.append(unit(position + 2))
                    position += 6
                }
                result += String(decoding: units, as: UTF16.self).utf8
            case let character: result.append(character)
            }
        }
        return result
    }

    /// The four hexadecimal digits there, which were checked.
    private func unit(_ position: Int) -> UInt16 {
        text[position..<position + 4].reduce(0) { $0 << 4 | UInt16(Self.digit($1) ?? 0) }
    }

    static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x41...0x46: character - 0x37
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }

    // MARK: Parsing

    private mutating func parse() throws {
        // The arrays and objects that are open.
        var open: [UInt32] = []
        var needsValue = true
        repeat {
            space()
            guard at < text.count else { throw Problem(message: "the JSON ends too early", position: at) }
            let isObject = open.last.map { text[Int(nodes[Int($0)].start)] == UInt8(ascii: "{") } ?? false
            if needsValue {
                let isClosing = text[at] == UInt8(ascii: "]") || text[at] == UInt8(ascii: "}")
                if !isClosing && isObject { try key() }
                if !isClosing {
                    let character = text[at]
                    try value()
                    if character == UInt8(ascii: "{") || character == UInt8(ascii: "[") {
                        open.append(UInt32(nodes.count - 1))
                        continue
                    }
                } else if open.last.map({ Int($0) != nodes.count - 1 }) ?? true {
                    throw Problem(message: "expected a value", position: at)
                } else {
                    try close(&open)
                }
                needsValue = false
            } else if text[at] == UInt8(ascii: ",") {
                at += 1
                needsValue = true
                space()
                guard at < text.count, text[at] != UInt8(ascii: "]"), text[at] != UInt8(ascii: "}") else {
                    throw Problem(message: "expected a value", position: at)
                }
            } else {
                try close(&open)
            }
        } while !open.isEmpty || needsValue
        space()
        guard at == text.count else { throw Problem(message: "text behind the JSON", position: at) }
    }

    private mutating func close(_ open: inout [UInt32]) throws {
        guard let last = open.popLast() else { throw Problem(message: "expected the end of the JSON", position: at) }
        let isObject = text[Int(nodes[Int(last)].start)] == UInt8(ascii: "{")
        guard text[at] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw Problem(message: "expected “,” or “\(isObject ? "}" : "]")”", position: at)
        }
        at += 1
        nodes[Int(last)].next = UInt32(nodes.count)
    }

    private mutating func space() {
        while at < text.count, text[at] == 0x20 || (0x09...0x0D).contains(text[at]) { at += 1 }
    }

    private mutating func key() throws {
        guard text[at] == UInt8(ascii: "\"") else { throw Problem(message: "expected a key", position: at) }
        try value()
        space()
        guard at < text.count, text[at] == UInt8(ascii: ":") else {
            throw Problem(message: "expected “:”", position: at)
        }
        at += 1
        space()
        guard at < text.count else { throw Problem(message: "the JSON ends too early", position: at) }
    }

    /// A value, or the beginning of an array or object.
    private mutating func value() throws {
        nodes.append(Node(start: UInt32(at), next: UInt32(nodes.count + 1)))
        switch text[at] {
        case UInt8(ascii: "{"), UInt8(ascii: "["): at += 1
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "n"): try skip("null")
        case UInt8(ascii: "t"): try skip("true")
        case UInt8(ascii: "f"): try skip("false")
        case UInt8(ascii: "-"), 0x30...0x39:
            at += 1
            while at < text.count, "0123456789+-.eE".utf8.contains(text[at]) { at += 1 }
        default: throw Problem(message: "expected a value", position: at)
        }
    }

    private mutating func skip(_ word: StaticString) throws {
        let end = at + word.utf8CodeUnitCount
        guard end <= text.count,
            text[at..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw Problem(message: "expected a value", position: at) }
        at = end
    }

    private mutating func skipString() throws {
        let start = at
        at += 1
        while at < text.count, text[at] != UInt8(ascii: "\"") {
            if text[at] == UInt8(ascii: "\\") {
                at += 1
                if at < text.count, text[at] == UInt8(ascii: "u") {
                    guard at + 4 < text.count, text[at + 1...at + 4].allSatisfy({ Self.digit($0) != nil }) else {
                        throw Problem(message: "expected four hexadecimal digits", position: at)
                    }
                    at += 4
                }
            }
            at += 1
        }
        guard at < text.count else { throw Problem(message: "a string without an end", position: start) }
        at += 1
    }
}
