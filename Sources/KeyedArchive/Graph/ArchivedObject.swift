/// One entry of an archive's list of objects.
///
/// Archives in the compact format have instances only; Apple's have all three.
public enum ArchivedObject: Sendable, Hashable {
    /// An instance of a class: its keys and values.
    case instance(ArchivedRecord)
    /// A class, which instances name by index.
    case classRecord(ArchivedClass)
    /// A plain value that is referred to like an object: strings, numbers, dates, bytes; nil at index 0.
    case value(ArchivedValue)

    /// The keys and values of an instance; nil for anything else.
    public var record: ArchivedRecord? {
        if case .instance(let record) = self { record } else { nil }
    }

    /// The name of the class, of an instance or the class itself; nil for a plain value.
    public var className: String? {
        switch self {
        case .instance(let record): record.typeName
        case .classRecord(let type): type.name
        case .value: nil
        }
    }

    /// The plain value; nil for anything else.
    public var plainValue: ArchivedValue? {
        if case .value(let value) = self { value } else { nil }
    }

    /// The value an instance has for a key.
    public subscript(key: String) -> ArchivedValue? { record?[key] }
}

/// A class as Apple's format describes it.
public struct ArchivedClass: Sendable, Hashable {
    /// The name of the class.
    public var name: String
    /// The names of the class and its superclasses, if they were written.
    public var classes: [String]?
    /// Classes to use where this one is not known, best first, if any were written.
    public var hints: [String]?
    /// Everything else the record holds, by key.
    public var others: [ArchivedValue.Pair]

    /// Makes a description of a class.
    public init(
        name: String, classes: [String]? = nil, hints: [String]? = nil, others: [ArchivedValue.Pair] = []
    ) {
        self.name = name
        self.classes = classes
        self.hints = hints
        self.others = others
    }

    /// The key of a record under which this library keeps a class's version, if it is not 0.
    static let versionKey = "$classversion"

    /// The version of the class, which only this library writes; 0 if there is none.
    public var version: Int {
        for pair in others where pair.key == .string(Self.versionKey) {
            if case .integer(let version) = pair.value { return Int(version) }
        }
        return 0
    }
}
