/// A small cache of immortal objects by type; a type has two possible places, and the newest entry is found first.
///
/// With a single place, two types that share it would replace each other for each message.
struct MetatypeCache {
    private struct Entry {
        var type: UInt = 0
        var value: Unmanaged<AnyObject>?
    }

    private static let count = 64
    /// Allocated with the first entry: many coders never need one.
    private var entries: UnsafeMutablePointer<Entry>?

    func deallocate() { entries?.deallocate() }

    @inline(__always)
    private func slot(_ type: UInt) -> Int { Int(bitPattern: (type &* 0x9E37_79B9_7F4A_7C15) >> 58) }

    @inline(__always)
    func find(_ type: Any.Type) -> Unmanaged<AnyObject>? {
        let key = UInt(bitPattern: ObjectIdentifier(type))
        guard let entries else { return nil }
        let slot = slot(key)
        if entries[slot].type == key { return entries[slot].value }
        return entries[slot ^ 1].type == key ? entries[slot ^ 1].value : nil
    }

    private static func make() -> UnsafeMutablePointer<Entry> {
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        entries.initialize(repeating: Entry(), count: count)
        return entries
    }

    /// Remembers `value`, which must never be freed.
    mutating func remember(_ value: AnyObject, for type: Any.Type) {
        let key = UInt(bitPattern: ObjectIdentifier(type))
        let entries = entries ?? Self.make()
        self.entries = entries
        let slot = slot(key)
        if entries[slot].type != 0 { entries[slot ^ 1] = entries[slot] }
        entries[slot] = Entry(type: key, value: Unmanaged.passUnretained(value))
    }
}
