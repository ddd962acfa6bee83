/// The connection, scope and tasks that a thread works for now.
struct ThreadTasks {
    // Each property is one word, and nil is 0: `ThreadState` stores them as integers.

    /// The connection whose synchronous method or hook runs.
    ///
    /// The caller of the method holds it.
    var serving: Unmanaged<Connection>?
    /// The scope whose job runs.
    ///
    /// The job holds it.
    var scope: Unmanaged<CallScope>?
    /// The task that is being started, which keeps its first job for this thread.
    var starting: Unmanaged<ServingTask>?
    /// The task of the running job, if it rests after this job.
    var resting: Unmanaged<ServingTask>?

    /// The tasks of the calling thread; nil while the thread exits.
    @inline(__always)
    static var current: UnsafeMutablePointer<ThreadTasks>? {
        guard let thread = ThreadState.current, let offset = MemoryLayout<ThreadState>.offset(of: \.tasks) else {
            return nil
        }
        return (UnsafeMutableRawPointer(thread) + offset).assumingMemoryBound(to: ThreadTasks.self)
    }
}
