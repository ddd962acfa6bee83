/// A dictionary that is searched linearly while it is small, as the tables of most connections are.
///
/// Up to eight entries cost a comparison each instead of a hash. With more it becomes a `Dictionary`.
struct SmallDictionary<Key: Hashable, Value>: ~Copyable {
    private static var fewest: Int { 8 }

    // Not private: see the compiler bugs in Workarounds.
    struct Entry {
        let key: Key
        var value: Value
    }

    private var few = CompactArray<Entry>()
    /// Holds all entries once there are too many for `few`, until it is empty.
    private var many: [Key: Value] = [:]

    var count: Int { few.count + many.count }
    var isEmpty: Bool { count == 0 }

    /// The keys, in no particular order.
    var keys: [Key] { few.indices.map { few[$0].key } + many.keys }

    /// The values, in no particular order.
    var values: [Value] { few.indices.map { few[$0].value } + many.values }

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
        guard few.count == Self.fewest || !many.isEmpty else { return few.append(Entry(key: key, value: value)) }
        for index in few.indices { many[few[index].key] = few[index].value }
        few.removeAll()
        many[key] = value
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard many.isEmpty else { return many.removeValue(forKey: key) }
        for index in few.indices where few[index].key == key { return few.remove(at: index).value }
        return nil
    }

    mutating func removeAll() {
        few.removeAll()
        many = [:]
    }
}
