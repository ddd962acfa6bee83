import KeyedArchive

/// The lines below an object or value.
enum TreeContent {
    case fields([String], [ArchivedValue])
    case list([ArchivedValue])
    case pairs([ArchivedValue.Pair])

    /// The text before the colon.
    enum Label {
        case name(String)
        case index(Int)
        case key(ArchivedValue)
    }

    /// The content of an object; nil if it has no lines.
    init?(_ object: ArchivedObject) {
        switch object {
        case .instance(let record):
            // A date is shown on its own line.
            if LeafText.seconds(of: record) != nil { return nil }
            self.init(record)
        case .value(let value): self.init(value)
        case .classRecord: return nil
        }
    }

    init?(_ value: ArchivedValue) {
        switch value {
        case .list(let values), .set(let values): self = .list(values)
        case .map(let pairs): self = .pairs(pairs)
        case .record(let record): self.init(record)
        case .present(let value): self = .fields(["some"], [value])
        default: return nil
        }
    }

    private init(_ record: ArchivedRecord) {
        let keys = record.keys
        // An object that is a single value has no keys.
        self = keys.count == record.values.count ? .fields(keys, record.values) : .list(record.values)
    }

    var count: Int {
        switch self {
        case .fields(_, let values), .list(let values): values.count
        case .pairs(let pairs): pairs.count
        }
    }

    func label(_ position: Int) -> Label {
        switch self {
        case .fields(let keys, _): return .name(keys[position])
        case .list: return .index(position)
        case .pairs(let pairs):
            if case .string(let name) = pairs[position].key { return .name(name) }
            return .key(pairs[position].key)
        }
    }

    func value(_ position: Int) -> ArchivedValue {
        switch self {
        case .fields(_, let values), .list(let values): values[position]
        case .pairs(let pairs): pairs[position].value
        }
    }
}
