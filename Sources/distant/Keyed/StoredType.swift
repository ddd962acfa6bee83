/// The type strings of sequential archives: those of scalars, and of C arrays of scalars, structures and arrays.
enum StoredType {
    /// How deep structures and arrays may be inside one another, and how long a type string may be.
    private static let deepest = 16
    private static let longest = 1 << 16

    /// The types of the scalars and arrays that a type consists of, without the structures around them; nil if it is none.
    static func leaves(of type: Substring) -> [Substring]? {
        guard type.utf8.count <= longest else { return nil }
        var rest = type
        var leaves: [Substring] = []
        guard take(&rest, &leaves, depth: 0), rest.isEmpty else { return nil }
        return leaves
    }

    /// The count and the element's type of an array; nil for other types.
    static func array(_ type: Substring) -> (count: Int, element: Substring)? {
        guard type.first == "[", type.last == "]" else { return nil }
        let digits = type.dropFirst().prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits) else { return nil }
        return (count, type[digits.endIndex...].dropLast())
    }

    /// Takes one type from the front.
    private static func take(_ rest: inout Substring, _ leaves: inout [Substring], depth: Int) -> Bool {
        guard depth < deepest, let first = rest.first else { return false }
        let start = rest
        rest.removeFirst()
        switch first {
        case "[":
            rest = rest.drop { $0.isASCII && $0.isNumber }
            var inner: [Substring] = []
            guard take(&rest, &inner, depth: depth + 1), rest.first == "]" else { return false }
            rest.removeFirst()
            leaves.append(start[..<rest.startIndex])
            return true
        case "{":
            guard let equals = rest.firstIndex(of: "=") else { return false }
            rest = rest[rest.index(after: equals)...]
            while let next = rest.first, next != "}" {
                guard take(&rest, &leaves, depth: depth + 1) else { return false }
            }
            guard !rest.isEmpty else { return false }
            rest.removeFirst()
            return true
        default:
            leaves.append(start.prefix(1))
            return "cCsSiIlLqQfdB*#@".contains(first)
        }
    }
}
