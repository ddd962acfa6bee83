import KeyedArchive

/// The values of a group in one line, with brackets around structures and arrays.
struct TypedStreamLine {
    enum Part {
        case text(String)
        case leaf(TypedStreamValue, separator: String)
    }

    private var values: TypedStreamValues.Iterator
    private var needsComma = false
    /// The leaves so far of each open array, and nil for each open structure.
    private var open: [Int?] = []
    /// Whether the group has one value, and this is no structure or array.
    let isAlone: Bool

    /// The most numbers and other leaves of an array that are shown.
    private static let mostLeaves = 64

    init(_ values: TypedStreamValues) {
        var ahead = values.makeIterator()
        _ = ahead.next()
        isAlone = ahead.next() == nil
        self.values = values.makeIterator()
    }

    mutating func next() -> Part? {
        while let value = values.next() {
            switch value {
            case .endArray:
                needsComma = true
                guard let count = open.popLast().flatMap(\.self), count > Self.mostLeaves else { return .text("]") }
                return .text(", … (\(count) elements)]")
            case .endStructure:
                open.removeLast()
                needsComma = true
                return .text("}")
            case .array: return opening("[", 0)
            case .structure: return opening("{", nil)
            default: if isShown(value) { return .leaf(value, separator: separator(isLeaf: true)) }
            }
        }
        return nil
    }

    private mutating func opening(_ bracket: String, _ count: Int?) -> Part {
        open.append(count)
        return .text(separator(isLeaf: false) + bracket)
    }

    private mutating func separator(isLeaf: Bool) -> String {
        defer { needsComma = isLeaf }
        return needsComma ? ", " : ""
    }

    /// Counts a leaf; objects are always shown, since they may follow in full.
    private mutating func isShown(_ value: TypedStreamValue) -> Bool {
        guard let last = open.indices.last, let count = open[last] else { return true }
        open[last] = count + 1
        if case .label = value { return true }
        return count < Self.mostLeaves
    }
}
