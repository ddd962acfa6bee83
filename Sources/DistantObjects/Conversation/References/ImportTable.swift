/// The objects of the peer that this side refers to, each with at most one proxy.
struct ImportTable<Proxy: AnyObject>: ~Copyable {
    // Not private: see the compiler bugs in Workarounds.
    struct Entry {
        let generation: UInt32
        /// The number of the object's proxies whose end is not counted yet: the current proxy and earlier ones.
        var references: UInt32 = 1
        weak var proxy: Proxy?
    }

    private var entries = SmallDictionary<UInt32, Entry>()
    /// The proxy for the root directory, which has no entry because it is never released.
    private weak var root: Proxy?
    var count: Int { entries.count }

    /// The proxy for an object that a message mentions: the existing one, or a new one.
    ///
    /// The caller holds the proxy until the message is decoded or dropped. An entry is not released while its proxy exists.
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

    /// The proxy for the root directory that a message mentions: the existing one, or a new one.
    mutating func rootProxy(_ make: () -> Proxy) -> Proxy {
        if let root { return root }
        let made = make()
        root = made
        return made
    }

    /// Counts the end of one proxy.
    ///
    /// - Returns: Whether it was the last proxy of the object, whose entry is removed then.
    mutating func releaseOne(_ id: ObjectID) -> Bool {
        let rest = entries.update(id.slot) { entry -> UInt32 in
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
