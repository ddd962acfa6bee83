import KeyedArchive

/// The object being decoded: its values, and how far those without key were read.
struct DecodingFrame {
    let record: ArchivedRecord
    /// The way to it from the object around it.
    let steps: [ArchiveError.Step]
    /// Whether the object may use keys.
    let allowsKeys: Bool
    /// Whether keys are hidden that make Foundation's collections trap.
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
            // Of equal keys the first one counts, as in the search below.
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

    /// The value of a key of the object's own.
    func value(forKey key: String) -> ArchivedValue? {
        guard isGuarded else { return value(forStoredKey: StoredName.escaped(key)) }
        if Self.hidden.contains(key) { return nil }
        if let value = value(forStoredKey: StoredName.escaped(key)) { return value }
        // A stored list is shown as one key for each element: Foundation traps otherwise.
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
