import KeyedArchive

/// The object being decoded: its values, and how far it has read the values without key.
struct DecodingFrame {
    let record: ArchivedRecord
    /// The path to it from the object around it.
    let steps: [ArchiveError.Step]
    /// Whether the object may use keys.
    let allowsKeys: Bool
    /// Whether to hide keys that make Foundation's collections trap.
    let isGuarded: Bool
    /// The types of the values without key, in sequential archives.
    let types: [Substring]?
    var position = 0
    private var positions: [String: Int] = [:]

    private static let fewKeys = 12

    init(_ record: ArchivedRecord, steps: [ArchiveError.Step], allowsKeys: Bool, isGuarded: Bool = false) {
        self.record = record
        self.steps = steps
        self.allowsKeys = allowsKeys
        self.isGuarded = isGuarded
        if record.storedKeys.count > Self.fewKeys {
            // The first of equal keys counts, as in the search below.
            for (position, key) in record.storedKeys.enumerated() where positions[key] == nil {
                positions[key] = position
            }
        }
        if !allowsKeys, case .string(let text)? = Self.value(StoredName.types, record, positions) {
            types = text.split(separator: ",")
        } else {
            types = nil
        }
    }

    func value(forStoredKey key: String) -> ArchivedValue? { Self.value(key, record, positions) }

    private static func value(_ key: String, _ record: ArchivedRecord, _ positions: [String: Int]) -> ArchivedValue? {
        let keys = record.storedKeys
        let position = keys.count > fewKeys ? positions[key] : keys.firstIndex(of: key)
        guard let position, position < record.values.count else { return nil }
        return record.values[position]
    }

    /// The value for one of the object's own keys.
    func value(forKey key: String) -> ArchivedValue? {
        guard isGuarded else { return value(forStoredKey: StoredName.escaped(key)) }
        if Self.hidden.contains(key) { return nil }
        if let value = value(forStoredKey: StoredName.escaped(key)) { return value }
        // A stored list is presented as one key for each element: otherwise Foundation traps.
        for (prefix, list) in [("NS.object.", "NS.objects"), ("NS.key.", "NS.keys")] where key.hasPrefix(prefix) {
            guard let index = Int(key.dropFirst(prefix.count)), case .list(let elements)? = value(forStoredKey: list),
                elements.indices.contains(index)
            else { continue }
            return elements[index]
        }
        return nil
    }

    private static let hidden: Set<String> = ["NS.objects", "NS.keys", "NS.string", "NS.data", "NS.number"]
}
