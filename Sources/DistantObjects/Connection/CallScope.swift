import KeyedArchive
import PortTransport

/// A task whose calls are given up when it is cancelled: one in `Connection.run`, or one that serves a call of the peer.
///
/// Its calls need no cancellation handler of their own, which costs more than all else that a call does in the runtime.
/// Tasks it starts are other tasks, and theirs have one. It is the task's preferred executor, and hands every job to the
/// connection's loop, so that a thread knows the scope it works in.
class CallScope: TaskExecutor, JobRunner, @unchecked Sendable {
    // `isCancelled` is protected by the connection's lock; `task` is written once, before anybody can compare it.

    let connection: Connection
    /// The peer or the user has cancelled the task.
    @exclusivity(unchecked) final var isCancelled = false
    /// Where the task is, to be compared and never followed; the task itself writes it first.
    @exclusivity(unchecked) private final var task: UInt = 0

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// The calling task is the one whose scope this is.
    final func enter() { task = currentTask() }

    /// The scope of the calling task, if it has one on that connection; held by the job that runs.
    @inline(__always)
    static func current(on connection: Connection) -> Unmanaged<CallScope>? {
        guard let scope = ThreadState.current?.pointee.scope,
            scope._withUnsafeGuaranteedRef({ $0.connection === connection && $0.task == currentTask() })
        else { return nil }
        return scope
    }

    func enqueue(_ job: consuming ExecutorJob) {
        connection.loop.enqueue(UnownedJob(job), by: self)
    }

    func run(_ job: UnownedJob) {
        guard let thread = ThreadState.current else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
        let outer = thread.pointee.scope
        thread.pointee.scope = Unmanaged.passUnretained(self)
        job.runSynchronously(on: asUnownedTaskExecutor())
        thread.pointee.scope = outer
    }
}

/// The address of the calling task; 0 on a thread that runs none.
@inline(__always)
private func currentTask() -> UInt {
    withUnsafeCurrentTask { task in unsafeBitCast(task, to: UInt.self) }
}
