// The connection that the running code works for.
extension Connection {
    /// The connection whose call or event handler runs on this thread; `nil` elsewhere.
    ///
    /// A method can ask it for the credentials of its caller. In an `async` method it stays the same after each `await`, in
    /// child tasks, and on actors with the default executor. It is `nil` on the main actor and in a `Task` that the method
    /// makes, which may outlive the call: read it before, and pass on what you need. A method that is called directly within
    /// its own process sees the value of its caller.
    public static var current: Connection? {
        guard let thread = ThreadTasks.current else { return nil }
        if let serving = thread.pointee.serving { return serving.takeUnretainedValue() }
        return thread.pointee.scope?.takeUnretainedValue().serves
    }

    /// Runs synchronous user code with this connection as `current`.
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
    /// The connection of this coder's messages; `nil` once it has ended.
    public var connection: Connection? { owner as? Connection }
}

extension Connection: CoderOwner {}
