/// A type as Objective-C type strings describe it: `i`, `[6f]`, `{CGPoint=dd}`.
indirect enum TypeEncoding: Equatable {
    case scalar(UInt8)
    case array(Int, TypeEncoding)
    case structure([TypeEncoding])

    /// The most bytes of an array or a structure: a type string may come from an archive.
    private static let largest = 1 << 20

    /// Parses a type string; nil if it is invalid, or names a type that cannot be archived.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let type = Self.parse(&rest, depth: 0), rest.isEmpty, type.size <= Self.largest else { return nil }
        self = type
    }

    private static func parse(_ text: inout ArraySlice<UInt8>, depth: Int) -> TypeEncoding? {
        guard depth < 16, let first = text.popFirst() else { return nil }
        switch first {
        case UInt8(ascii: "["):
            var count = 0
            while let digit = text.first, (48...57).contains(digit) {
                text.removeFirst()
                count = count * 10 + Int(digit - 48)
                guard count <= largest else { return nil }
            }
            guard let element = parse(&text, depth: depth + 1), text.popFirst() == UInt8(ascii: "]"),
                element.size * count <= largest
            else { return nil }
            return .array(count, element)
        case UInt8(ascii: "{"):
            guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            text = text[(equals + 1)...]
            var fields: [TypeEncoding] = []
            while let next = text.first, next != UInt8(ascii: "}") {
                guard let field = parse(&text, depth: depth + 1), fields.count < 256 else { return nil }
                fields.append(field)
            }
            guard text.popFirst() != nil else { return nil }
            return .structure(fields)
        default:
            return scalarSize(first) == nil ? nil : .scalar(first)
        }
    }

    /// The size of a scalar; nil for other types.
    ///
    /// As always in Foundation, `l` and `L` have 32 bits.
    static func scalarSize(_ code: UInt8) -> Int? {
        switch Character(UnicodeScalar(code)) {
        case "c", "C", "B": 1
        case "s", "S": 2
        case "i", "I", "l", "L", "f": 4
        case "q", "Q", "d", "*", "#": 8
        case "@": MemoryLayout<Any?>.size
        default: nil
        }
    }

    var size: Int {
        switch self {
        case .scalar(let code): return Self.scalarSize(code) ?? 0
        case .array(let count, let element): return count * element.stride
        case .structure(let fields):
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
        case .structure(let fields): return fields.map(\.alignment).max() ?? 1
        }
    }

    var stride: Int { size.rounded(up: alignment) }

    /// The type string.
    var text: String {
        switch self {
        case .scalar(let code): String(UnicodeScalar(code))
        case .array(let count, let element): "[\(count)\(element.text)]"
        case .structure(let fields): "{?=\(fields.map(\.text).joined())}"
        }
    }
}

extension Int {
    func rounded(up alignment: Int) -> Int { (self + alignment - 1) / alignment * alignment }
}
