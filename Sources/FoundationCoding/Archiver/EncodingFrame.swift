import KeyedArchive

/// What one object, or the top of the archive, has encoded so far.
struct EncodingFrame {
    private(set) var keys: [String] = []
    private(set) var values: [ArchivedValue] = []
    private var positions: [String: Int] = [:]
    private var unkeyedCount = 0
    /// The types of the values encoded without key, one after the other; written in sequential archives only.
    private var types: [String] = []
    /// Whether the object may use keys: any object in a keyed archive, and Foundation's own always.
    let allowsKeys: Bool

    init(allowsKeys: Bool) { self.allowsKeys = allowsKeys }

    /// Sets the value of a key; as in Foundation, the last value counts.
    mutating func set(_ value: ArchivedValue, forStoredKey key: String) {
        if let position = positions[key] {
            values[position] = value
        } else {
            positions[key] = keys.count
            keys.append(key)
            values.append(value)
        }
    }

    mutating func set(_ value: ArchivedValue, forKey key: String) { set(value, forStoredKey: StoredName.escaped(key)) }

    /// Adds a value without a key.
    mutating func append(_ value: ArchivedValue, type: String) {
        set(value, forStoredKey: "$\(unkeyedCount)")
        unkeyedCount += 1
        types.append(type)
    }

    /// Adds the types of the values without key, for a sequential archive.
    mutating func sealTypes() {
        if !allowsKeys { set(.string(types.joined(separator: ",")), forStoredKey: StoredName.types) }
    }
}

/// Keys as archives store them.
enum StoredName {
    /// The key for the types of the values encoded in order, in sequential archives.
    static let types = "$types"

    static func escaped(_ key: String) -> String { key.utf8.first == UInt8(ascii: "$") ? "$" + key : key }
}
