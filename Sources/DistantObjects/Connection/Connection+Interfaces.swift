// Roots that are used by an interface.
extension Connection {
    /// Makes an object a root that the peer looks up by the interface it implements, or by none.
    ///
    /// - Parameters:
    ///   - object: Kept alive until the connection ends or another object gets the name.
    ///   - name: Empty for the root that `root` gives.
    /// - Throws: `ConnectionError.interfaceMismatch` if the class's table does not list all messages of the interface.
    public func vend<Object: Vendable & Implements>(_ object: Object, as name: String = "") throws {
        if let mismatch = ClassMessages.of(object)._withUnsafeGuaranteedRef({ $0.mismatch }) { throw mismatch }
        roots.set([(key: name, value: object)])
    }

    /// The peer's root object of that name, used by an interface.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:deadline:)`.
    ///   - interface: What the object has to answer.
    ///   - deadline: As for `root(named:deadline:)`.
    /// - Throws: As `root(named:deadline:)`; `ConnectionError.interfaceMismatch` if the object does not answer what the
    ///   interface asks, with the whole list.
    public func root<I: Interface>(
        named name: String = "", as interface: I.Type, deadline: Duration? = nil
    ) async throws -> Remote<I> {
        try Remote(await root(named: name, deadline: deadline))
    }

    /// The peer's root object of that name, used by an interface, for plain threads: blocks until it is there.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:deadline:)`.
    ///   - interface: What the object has to answer.
    ///   - deadline: As for `root(named:deadline:)`.
    /// - Throws: As `root(named:as:deadline:)`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public func blockingRoot<I: Interface>(
        named name: String = "", as interface: I.Type, deadline: Duration? = nil
    ) throws -> Remote<I> {
        try Remote(blockingRoot(named: name, deadline: deadline))
    }

    /// The names under which the peer vends its roots, sorted.
    ///
    /// - Parameter deadline: As for `root(named:deadline:)`.
    /// - Throws: `ConnectionError.noSuchMessage` if the peer is of an earlier version, `.deadlineExceeded`.
    public func rootNames(deadline: Duration? = nil) async throws -> [String] {
        try await peerRoots.message("names").call(deadline: deadline ?? settings.lookupDeadline)
    }

    /// Returns the names under which the peer vends its roots, sorted, to a plain thread: blocks until they are there.
    ///
    /// - Parameter deadline: As for `root(named:deadline:)`.
    /// - Throws: As `rootNames(deadline:)`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public func blockingRootNames(deadline: Duration? = nil) throws -> [String] {
        try peerRoots.message("names").blocking(deadline: deadline ?? settings.lookupDeadline)
    }
}
