/// What a thread runs now, for code that asks where it is.
struct ThreadTasks {
    // Each is a word, and 0 is nil: they lie in the room that `ThreadState` keeps for them.

    /// The connection whose synchronous method or hook runs; the caller of that holds it.
    var serving: Unmanaged<Connection>?
    /// The scope whose job runs; that job holds it.
    var scope: Unmanaged<CallScope>?
    /// The task that is being started, whose first job is to be kept back.
    var starting: Unmanaged<ServingTask>?
    /// The task that the job which runs has put to rest; it is its own.
    var resting: Unmanaged<ServingTask>?

    /// The calling thread's; nil while the thread ends.
    @inline(__always)
    static var current: UnsafeMutablePointer<ThreadTasks>? {
        guard let thread = ThreadState.current, let offset = MemoryLayout<ThreadState>.offset(of: \.tasks) else {
            return nil
        }
        return (UnsafeMutableRawPointer(thread) + offset).assumingMemoryBound(to: ThreadTasks.self)
    }
}
