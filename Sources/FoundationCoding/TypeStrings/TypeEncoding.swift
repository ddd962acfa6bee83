/// A type as Objective-C type strings describe it: `i`, `[6f]`, `{CGPoint=dd}`.
indirect enum TypeEncoding: Equatable {
    case scalar(UInt8)
    case array(Int, TypeEncoding)
    /// The fields, with the name that stands in front of `=`.
    case structure(String?, [TypeEncoding])

    /// The archives whose types are meant.
    enum Vocabulary {
        /// Archives of this library's other coders, and keyed ones.
        case keyed
        /// Typedstreams, which have selectors (`:`), atoms (`%`) and integers that are left out (`!`), too.
        case typedStream
        /// Typedstreams with their strings (`+`), which have no form in memory.
        case typedStreamValues

        /// The most bytes of an array or a structure: a type string may come from an archive.
        fileprivate var largest: Int { self == .keyed ? 1 << 20 : 1 << 32 }

        fileprivate func contains(_ code: UInt8) -> Bool {
            TypeEncoding.scalarSize(code) != nil
                && (self == .typedStreamValues || code != UInt8(ascii: "+"))
                && (self != .keyed || !":%!".utf8.contains(code))
        }
    }

    /// Parses a type string; nil if it is invalid, or names a type that cannot be archived.
    init?(_ text: String, _ vocabulary: Vocabulary = .keyed) {
        guard let types = Self.list(text, vocabulary), types.count == 1 else { return nil }
        self = types[0]
    }

    /// Parses types that stand one behind the other; nil if one is invalid.
    static func list(_ text: String, _ vocabulary: Vocabulary) -> [TypeEncoding]? {
        var rest = Array(text.utf8)[...]
        var types: [TypeEncoding] = []
        while !rest.isEmpty {
            guard let type = parse(&rest, vocabulary, depth: 0), type.size <= vocabulary.largest else { return nil }
            types.append(type)
        }
        return types
    }

    private static func parse(_ text: inout ArraySlice<UInt8>, _ vocabulary: Vocabulary, depth: Int) -> TypeEncoding? {
        guard depth < 16, let first = text.popFirst() else { return nil }
        switch first {
        case UInt8(ascii: "["):
            var count = 0
            while let digit = text.first, (48...57).contains(digit) {
                text.removeFirst()
                count = count * 10 + Int(digit - 48)
                guard count <= vocabulary.largest else { return nil }
            }
            guard let element = parse(&text, vocabulary, depth: depth + 1), text.popFirst() == UInt8(ascii: "]"),
                element.size.multipliedReportingOverflow(by: count).overflow == false,
                element.size * count <= vocabulary.largest
            else { return nil }
            return .array(count, element)
        case UInt8(ascii: "{"):
            guard let name = name(&text, vocabulary) else { return nil }
            var fields: [TypeEncoding] = []
            while let next = text.first, next != UInt8(ascii: "}") {
                guard let field = parse(&text, vocabulary, depth: depth + 1), fields.count < 256 else { return nil }
                fields.append(field)
            }
            guard text.popFirst() != nil else { return nil }
            return .structure(name, fields)
        default:
            return vocabulary.contains(first) ? .scalar(first) : nil
        }
    }

    /// Takes the name of a structure; nil if there is none, which only typedstreams allow.
    private static func name(_ text: inout ArraySlice<UInt8>, _ vocabulary: Vocabulary) -> String?? {
        let end = text.firstIndex { $0 == UInt8(ascii: "=") || (vocabulary != .keyed && "{}".utf8.contains($0)) }
        guard let end else { return nil }
        guard text[end] == UInt8(ascii: "=") else { return .some(nil) }
        let name = String(decoding: text[..<end], as: UTF8.self)
        text = text[(end + 1)...]
        return name
    }

    /// The size of a scalar; nil for other types.
    ///
    /// As always in Foundation, `l` and `L` have 32 bits.
    static func scalarSize(_ code: UInt8) -> Int? {
        switch Character(UnicodeScalar(code)) {
        case "c", "C", "B": 1
        case "s", "S": 2
        case "i", "I", "l", "L", "f": 4
        case "!": 4
        case "q", "Q", "d", "*", "#", ":", "%", "+": 8
        case "@": MemoryLayout<Any?>.size
        default: nil
        }
    }

    var size: Int {
        switch self {
        case .scalar(let code): return Self.scalarSize(code) ?? 0
        case .array(let count, let element): return count * element.stride
        case .structure(_, let fields):
            var offset = 0
            for field in fields { offset = offset.rounded(up: field.alignment) + field.size }
            return offset.rounded(up: alignment)
        }
    }

    var alignment: Int {
        switch self {
        case .scalar(UInt8(ascii: "@")): return MemoryLayout<Any?>.alignment
        case .scalar(let code): return max(1, Self.scalarSize(code) ?? 1)
        case .array(_, let element): return element.alignment
        case .structure(_, let fields): return fields.map(\.alignment).max() ?? 1
        }
    }

    var stride: Int { size.rounded(up: alignment) }

    /// The type string as keyed archives have it, without the names of structures.
    var text: String {
        switch self {
        case .scalar(let code): String(UnicodeScalar(code))
        case .array(let count, let element): "[\(count)\(element.text)]"
        case .structure(_, let fields): "{?=\(fields.map(\.text).joined())}"
        }
    }
}

extension Int {
    func rounded(up alignment: Int) -> Int { (self + alignment - 1) / alignment * alignment }
}
