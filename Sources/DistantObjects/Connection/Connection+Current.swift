// Who calls: what a method or a hook may want to know, and no argument says.
extension Connection {
    /// The connection whose call runs here, or whose event a hook is told; `nil` elsewhere.
    ///
    /// A method asks it for its caller's credentials. In an `async` method it is the same after every `await`, in its child
    /// tasks, and in actors with the default executor; not on the main actor, and not in a `Task` that the method makes, which
    /// may outlive the call: ask before, and pass on what you need. An object called within its own process sees what its
    /// caller sees.
    public static var current: Connection? {
        guard let thread = ThreadTasks.current else { return nil }
        if let serving = thread.pointee.serving { return serving.takeUnretainedValue() }
        return thread.pointee.scope?.takeUnretainedValue().serves
    }

    /// Runs synchronous code of the user's as this connection's.
    @inline(__always)
    func asCurrent<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let thread = ThreadTasks.current else { return try body() }
        let outer = thread.pointee.serving
        thread.pointee.serving = Unmanaged.passUnretained(self)
        defer { thread.pointee.serving = outer }
        return try body()
    }
}

extension PortCoder {
    /// The connection that messages of this coder go over; `nil` once it has ended.
    public var connection: Connection? { owner as? Connection }
}

extension Connection: CoderOwner {}
