/// A dictionary that is searched linearly while it is small, as the tables of most connections are.
///
/// Up to eight entries cost a comparison each instead of a hash. With more it becomes a `Dictionary`.
struct SmallDictionary<Key: Hashable, Value> {
    private static var fewest: Int { 8 }

    private var few: [SmallDictionaryEntry<Key, Value>] = []
    /// Holds all entries once there are too many for `few`, until it is empty.
    private var many: [Key: Value] = [:]

    var count: Int { few.count + many.count }
    var isEmpty: Bool { count == 0 }

    /// The keys, in no particular order.
    var keys: [Key] { few.map(\.key) + many.keys }

    /// The values, in no particular order.
    var values: [Value] { few.map(\.value) + many.values }

    subscript(key: Key) -> Value? {
        for index in few.indices where few[index].key == key { return few[index].value }
        return many.isEmpty ? nil : many[key]
    }

    /// Changes a value in place; returns nil if there is none.
    mutating func update<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        for index in few.indices where few[index].key == key { return body(&few[index].value) }
        guard let index = many.index(forKey: key) else { return nil }
        return body(&many.values[index])
    }

    /// Adds an entry.
    ///
    /// The key must be new.
    mutating func insert(_ value: consuming Value, for key: Key) {
        guard few.count == Self.fewest || !many.isEmpty else {
            return few.append(SmallDictionaryEntry(key: key, value: value))
        }
        for entry in few { many[entry.key] = entry.value }
        few = []
        many[key] = value
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard many.isEmpty else { return many.removeValue(forKey: key) }
        for index in few.indices where few[index].key == key { return few.remove(at: index).value }
        return nil
    }

    mutating func removeAll() {
        few = []
        many = [:]
    }
}

// Apart from the dictionary and without its constraint, which the runtime would check by a search of conformances when a
// program makes its first array of these.
private struct SmallDictionaryEntry<Key, Value> {
    let key: Key
    var value: Value
}
