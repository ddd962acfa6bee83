/// The objects of the peer that are known here, each with its one proxy.
struct ImportTable {
    private struct Entry {
        let generation: UInt32
        weak var proxy: DistantObject?
    }

    private var entries = SmallDictionary<UInt32, Entry>()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.count }

    /// The proxy for an object that a message mentions: the living one, or a new one.
    ///
    /// The caller holds it strongly until the message is decoded or thrown away. That is the pin: an entry with a living
    /// proxy is never released.
    mutating func proxy(
        for id: ObjectID, on connection: Connection
    ) throws(ProtocolViolation) -> DistantObject {
        if let entry = entries[id.slot] {
            guard entry.generation == id.generation else {
                throw ProtocolViolation(.outOfStep, "an id was given to another object before it was released")
            }
            if let proxy = entry.proxy { return proxy }
            entries.removeValue(forKey: id.slot)
        } else if entries.count >= limit {
            throw ProtocolViolation(.overLimit, "more than \(limit) references are held on this connection")
        }
        let proxy = DistantObject(id, on: connection)
        entries.insert(Entry(generation: id.generation, proxy: proxy), for: id.slot)
        return proxy
    }

    /// Removes an id whose proxy died, unless the object was mentioned again since and has a new one.
    mutating func releaseIfDead(_ id: ObjectID) -> Bool {
        guard let entry = entries[id.slot], entry.generation == id.generation, entry.proxy == nil else { return false }
        entries.removeValue(forKey: id.slot)
        return true
    }

    mutating func removeAll() {
        entries.removeAll()
    }
}
