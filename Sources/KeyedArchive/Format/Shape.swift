import Synchronization

/// The name, version and keys that instances of a class, or values of a type, have in common.
///
/// The keys are in the order written. Bodies refer to their shape by number and contain only the values. Two shapes are
/// equal if their definitions are the same bytes.
// `keys` points to memory that is written once in `init`, before the shape is shared, and freed in `deinit`.
package final class Shape: @unchecked Sendable, Hashable {
    package enum Kind: UInt8, Sendable {
        /// Values inside others: structures, enums.
        case record = 0
        /// Instances of classes.
        case object = 1
    }

    package enum Layout: UInt8, Sendable {
        /// One value for each key of the shape.
        case keyed = 0
        /// The keys are inline, next to their values.
        case explicit = 1
        /// A single value without a key.
        case single = 2
    }

    package let name: String
    package let version: Int
    package let kind: Kind
    package let layout: Layout
    let keys: UnsafePointer<String>
    package let keyCount: Int
    /// The bytes that define this shape, as stored in an archive.
    package let definition: [UInt8]
    private let hash: Int
    /// The address of the metatype that was last found for this shape's name.
    let namesake = Atomic<UInt>(0)
    private let positions: [String: Int]
    /// Whether it is keyed, and no key begins with "$": then the keys are those of the user.
    let hasPlainKeys: Bool

    init(name: String, version: Int, kind: Kind, layout: Layout, keys: [String]) {
        self.name = name
        self.version = version
        self.kind = kind
        self.layout = layout
        let storage = UnsafeMutablePointer<String>.allocate(capacity: max(keys.count, 1))
        storage.initialize(from: keys, count: keys.count)
        self.keys = UnsafePointer(storage)
        keyCount = keys.count
        keyNames = keys
        var sink = ByteSink()
        defer { sink.deallocate() }
        sink.byte(kind.rawValue | layout.rawValue << 1)
        sink.string(name)
        sink.zigzag(Int64(version))
        sink.varint(UInt64(keys.count))
        for key in keys { sink.string(key) }
        definition = Array(sink.bytes)
        hash = definition.hashValue
        hasPlainKeys = layout == .keyed && !keys.contains(where: StoredKey.isReserved)
        positions =
            keys.count > 8 ? Dictionary(zip(keys, 0...), uniquingKeysWith: { first, _ in first }) : [:]
    }

    deinit {
        let storage = UnsafeMutablePointer(mutating: keys)
        storage.deinitialize(count: keyCount)
        storage.deallocate()
    }

    /// The keys in the order written.
    package let keyNames: [String]

    /// The position of `key` among the keys.
    @inline(__always)
    func position(of key: String) -> Int? { samePosition(as: key) ?? search(for: key) }

    /// The position of a key that is stored in the same way as `key`, as short strings are; nil if there is none.
    ///
    /// Compares words only: strings of the same words are equal.
    @inline(__always)
    func samePosition(as key: String) -> Int? {
        let words = unsafeBitCast(key, to: (UInt64, UInt64).self)
        let stored = UnsafeRawPointer(keys).assumingMemoryBound(to: (UInt64, UInt64).self)
        // Among many keys, `search` is faster.
        let count = min(keyCount, 32)
        var index = 0
        while index < count {
            if stored[index] == words { return index }
            index &+= 1
        }
        return nil
    }

    @inline(never)
    private func search(for key: String) -> Int? {
        if keyCount > 8 { return positions[key] }
        var index = 0
        while index < keyCount {
            if keys[index] == key { return index }
            index += 1
        }
        return nil
    }

    package static func == (a: Shape, b: Shape) -> Bool {
        a === b || (a.hash == b.hash && a.definition == b.definition)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Reads one definition from `bytes` at `offset`, and moves `offset` past it.
    package static func parse(_ bytes: UnsafeRawBufferPointer, at offset: inout Int, limits: ArchiveLimits) throws
        -> Shape
    {
        var source = ByteSource(bytes, from: offset)
        let flags = try source.byte()
        guard let kind = Kind(rawValue: flags & 1), let layout = Layout(rawValue: flags >> 1) else {
            throw ArchiveError(.corrupt, "unknown kind of shape")
        }
        // A single value needs no record around it.
        guard kind == .object || layout != .single else {
            throw ArchiveError(.corrupt, "a record shape for single values")
        }
        let name = try source.stringValue(limits)
        guard let version = Int(exactly: try source.zigzag()) else {
            throw ArchiveError(.corrupt, "version out of range")
        }
        let count = try source.count(eachAtLeast: 1, limit: limits.keys, "keys in a shape")
        guard count == 0 || layout == .keyed else { throw ArchiveError(.corrupt, "keys in a shape without keys") }
        var keys: [String] = []
        keys.reserveCapacity(count)
        for _ in 0..<count { keys.append(try source.stringValue(limits)) }
        guard Set(keys).count == count else { throw ArchiveError(.corrupt, "a shape with the same key twice") }
        offset = source.position
        return Shape(name: name, version: version, kind: kind, layout: layout, keys: keys)
    }
}
