/// A key or an index in a `codingPath`.
struct CodingPathKey: CodingKey, CustomStringConvertible {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = Int(stringValue)
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }

    /// Like the coders of the toolchain, calls an index "Index 3".
    init(_ step: ArchiveError.Step) {
        switch step {
        case .key(let key):
            stringValue = key
            intValue = Int(key)
        case .index(let index):
            stringValue = "Index \(index)"
            intValue = index
        }
    }

    var description: String { stringValue }

    /// The step for a key in a coding path, which may be a user's.
    static func step(_ key: any CodingKey) -> ArchiveError.Step {
        guard let index = key.intValue, key.stringValue == "Index \(index)" else { return .key(key.stringValue) }
        return .index(index)
    }
}
