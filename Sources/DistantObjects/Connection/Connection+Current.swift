// Who calls: what a method or a hook may want to know, and no argument says.
extension Connection {
    /// The connection whose call runs here, or whose event a hook is told; `nil` elsewhere.
    ///
    /// A method asks it for the peer's credentials, or vends it more. In an `async` method it stays the same over every
    /// `await` and in the tasks that the method starts, but for detached ones. An object called within its own process has
    /// no connection of its own and sees that of its caller.
    public static var current: Connection? {
        // A thread serves synchronous methods also in the middle of a task, so it knows better.
        ThreadState.current?.pointee.serving?.takeUnretainedValue() ?? ofTask
    }

    /// Bound by the task that serves the calls of a connection.
    @TaskLocal static var ofTask: Connection?

    /// Runs code of the user's as this connection's.
    @inline(__always)
    func asCurrent<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let thread = ThreadState.current else { return try body() }
        let outer = thread.pointee.serving
        thread.pointee.serving = Unmanaged.passUnretained(self)
        defer { thread.pointee.serving = outer }
        return try body()
    }
}
