/// Keys and values of an object or a structure in an archive, with the name and version of its class or type.
public struct ArchivedRecord: Sendable, Hashable {
    /// The name of the class or type; empty for containers without a type.
    public internal(set) var typeName: String
    /// The version of the class.
    public internal(set) var version: Int
    /// The index of the class record, in archives that have them.
    public internal(set) var classIndex: Int?
    /// The keys as archives store them: a user's key that begins with "$" has another "$" in front.
    package internal(set) var storedKeys: [String]
    /// The values, in the order of `keys`; for an object that is a single value, that value.
    public internal(set) var values: [ArchivedValue]

    package init(
        typeName: String, version: Int = 0, classIndex: Int? = nil, storedKeys: [String], values: [ArchivedValue]
    ) {
        self.typeName = typeName
        self.version = version
        self.classIndex = classIndex
        self.storedKeys = storedKeys
        self.values = values
    }

    /// The keys in the order written, without the extra "$" of keys that begin with "$".
    ///
    /// "$0", "$1" and so on are also the keys of values that were encoded without key; `isUnkeyed` tells them apart.
    /// Empty for an object that is a single value.
    public var keys: [String] {
        guard storedKeys.contains(where: StoredKey.isEscaped) else { return storedKeys }
        return storedKeys.map(StoredKey.unescaped)
    }

    /// Whether the value at a position of `values` was encoded without key.
    public func isUnkeyed(at position: Int) -> Bool {
        storedKeys.indices.contains(position) && StoredKey.position(storedKeys[position]) != nil
    }

    /// The value for a key; for "$0" and so on, else the value encoded without key at that position.
    public subscript(key: String) -> ArchivedValue? {
        let stored = StoredKey.escaped(key)
        let position = storedKeys.firstIndex(of: stored) ?? (stored == key ? nil : storedKeys.firstIndex(of: key))
        guard let position, position < values.count else { return nil }
        return values[position]
    }
}
