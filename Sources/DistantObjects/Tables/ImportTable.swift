/// The objects of the peer that are known here, each with its one proxy.
struct ImportTable<Proxy: AnyObject> {
    private struct Entry {
        let generation: UInt32
        weak var proxy: Proxy?
        /// References made and not yet known to be gone: the proxy's, and those of earlier ones whose messages are not
        /// sent yet.
        var references = 1
    }

    private var entries = SmallDictionary<UInt32, Entry>()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.count }

    /// More are held than allowed: the message that brought the last ones is refused, and they are released.
    var isOverLimit: Bool { entries.count > limit }

    /// The proxy for an object that a message mentions: the living one, or a new one.
    ///
    /// The caller holds it strongly until the message is decoded or thrown away. That is the pin: an entry with a living
    /// reference is never released.
    mutating func proxy(
        for id: ObjectID, make: () -> Proxy
    ) throws(ProtocolViolation) -> Proxy {
        let known = entries.update(id.slot) { entry -> Proxy? in
            guard entry.generation == id.generation else { return nil }
            if let proxy = entry.proxy { return proxy }
            let proxy = make()
            entry.proxy = proxy
            entry.references += 1
            return proxy
        }
        if let known {
            guard let proxy = known else {
                throw ProtocolViolation(.outOfStep, "an id was given to another object before it was released")
            }
            return proxy
        }
        let proxy = make()
        entries.insert(Entry(generation: id.generation, proxy: proxy), for: id.slot)
        return proxy
    }

    /// A reference is gone.
    ///
    /// - Returns: Whether it was the last: the object was not mentioned again since, and the id is removed.
    mutating func releaseOne(_ id: ObjectID) -> Bool {
        let rest = entries.update(id.slot) { entry -> Int in
            guard entry.generation == id.generation else { return .max }
            entry.references -= 1
            return entry.references
        }
        guard rest == 0 else { return false }
        entries.removeValue(forKey: id.slot)
        return true
    }

    mutating func removeAll() {
        entries.removeAll()
    }
}
