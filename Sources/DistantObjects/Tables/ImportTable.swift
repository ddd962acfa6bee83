/// The objects of the peer that are known here, each with its one proxy.
struct ImportTable<Proxy: AnyObject> {
    private struct Entry {
        let generation: UInt32
        weak var proxy: Proxy?
        /// Proxies made for the object whose end was not sent: the living one, and earlier ones.
        var references = 1
    }

    private var entries = SmallDictionary<UInt32, Entry>()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.count }

    /// Whether more references are held than allowed; the message that brought the last ones is refused.
    var isOverLimit: Bool { entries.count > limit }

    /// The proxy for an object that a message mentions: the living one, or a new one.
    ///
    /// The caller holds the proxy until the message is decoded or dropped: an entry with a living proxy is never released.
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
