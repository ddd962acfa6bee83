import KeyedArchive
import PortTransport

/// A task whose calls are given up when it is cancelled: one in `Connection.run`, or one that serves a call of the peer.
///
/// Its calls need no cancellation handler of their own, which costs more than all else that a call does in the runtime.
/// Tasks it starts are other tasks, and theirs have one. It is the task's preferred executor, and hands every job to the
/// connection's loop, so that a thread knows the scope it works in.
class CallScope: TaskExecutor, JobRunner, @unchecked Sendable {
    // `task` is written once, before anybody can compare it; the connection's lock protects the rest.

    let connection: Connection
    /// The task was cancelled: by the peer, the user or itself.
    @exclusivity(unchecked) final var isCancelled = false
    /// Where the task is, to be compared and never followed; the task itself writes it first.
    @exclusivity(unchecked) private final var task: UInt = 0

    /// The call that the task waits for.
    @exclusivity(unchecked) final var ticket = Ticket(index: 0, serial: 0)
    /// Calls that suspend at once, because one before them waited for nothing; the task alone uses it.
    @exclusivity(unchecked) private final var suspending = 0
    /// What the task waits for, left by another thread before it has suspended.
    @exclusivity(unchecked) final var answer: Result<Reply, any Error>?
    /// Where the task goes on, if whoever has its answer could not be told.
    @exclusivity(unchecked) final var continuation: UnsafeContinuation<Reply, any Error>?

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// The calling task is the one whose scope this is.
    final func enter() { task = currentTask() }

    /// The scope of the calling task, if it has one on that connection; held by the job that runs.
    @inline(__always)
    static func current(on connection: Connection) -> Unmanaged<CallScope>? {
        guard let scope = ThreadTasks.current?.pointee.scope,
            scope._withUnsafeGuaranteedRef({ $0.connection === connection && $0.task == currentTask() })
        else { return nil }
        return scope
    }

    /// After how many calls it is tried again whether the next thing to come is the answer.
    private static let retry = 16

    /// Whether the answer to the task's next call may be waited for in the midst of its job.
    final func mayWait() -> Bool {
        if suspending == 0 { return true }
        suspending -= 1
        return false
    }

    /// Something else came: most often a call of the peer, and then the next time too.
    final func waitedInVain() { suspending = Self.retry }

    /// The task is going to wait for a call, in the midst of a job.
    ///
    /// Called with the connection's lock held.
    func waits(_ state: inout PortState<Connection>) {}

    /// The connection whose call the task serves.
    var serves: Connection? { nil }

    /// Whether the task serves a one-way message.
    var servesOneWay: Bool { false }

    func enqueue(_ job: consuming ExecutorJob) {
        connection.loop.enqueue(UnownedJob(job), by: self)
    }

    final func run(_ job: UnownedJob) {
        guard let thread = ThreadTasks.current else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
        let outer = thread.pointee.scope
        thread.pointee.scope = Unmanaged.passUnretained(self)
        job.runSynchronously(on: asUnownedTaskExecutor())
        thread.pointee.scope = outer
        if let resting = thread.pointee.resting.take() {
            resting._withUnsafeGuaranteedRef { $0.connection.keep($0) }
        }
    }
}

/// The address of the calling task; 0 on a thread that runs none.
@inline(__always)
func currentTask() -> UInt {
    withUnsafeCurrentTask { task in unsafeBitCast(task, to: UInt.self) }
}
