import KeyedArchive
import PortTransport

/// A task whose calls are given up when it is cancelled: one in `Connection.run`, or one that serves a call of the peer.
///
/// Its calls need no cancellation handler of their own, which costs more than all else that a call does in the runtime.
/// Tasks it starts are other tasks, and theirs have one. It is the task's preferred executor, and hands every job to the
/// connection's loop, so that a thread knows the scope it works in.
///
/// The task waits for one call at a time, first in its job, without having suspended; the two ways to an answer:
///
///     nothing --(another thread has the answer)--> answered --(the task takes it)--> nothing
///     nothing --(suspended, the answer is about to come)--> suspended --(it comes and resumes the task)--> nothing
///
/// Nearly always the thread that waits reads the answer itself, or the question holds the suspended task: then nothing is
/// left here at all.
class CallScope: TaskExecutor, JobRunner, @unchecked Sendable {
    // `task` is written once, before anybody can compare it; the connection's lock protects the rest.

    /// What another thread or the task has left for the other.
    enum Handover {
        case nothing
        case answered(Result<Reply, any Error>)
        case suspended(UnsafeContinuation<Reply, any Error>)
    }

    let connection: Connection
    /// The task was cancelled: by the peer, the user or itself.
    @exclusivity(unchecked) final var isCancelled = false
    /// Identifies the task, which sets it when it begins; only compared.
    @exclusivity(unchecked) private final var task: UInt = 0

    /// The call that the task waits for.
    @exclusivity(unchecked) final var ticket = Ticket(index: 0, serial: 0)
    /// So many of the next calls suspend at once, because an earlier one waited in vain; only the task uses it.
    @exclusivity(unchecked) private final var suspending = 0
    @exclusivity(unchecked) private final var handover = Handover.nothing

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

    /// After a wait in vain, so many calls suspend at once before the next wait.
    private static let retry = 16

    /// Whether the task waits for its next answer inside its job, without suspending.
    final func mayWait() -> Bool {
        if suspending == 0 { return true }
        suspending -= 1
        return false
    }

    /// Something other than the answer came, most often a call of the peer; the next time it probably does, too.
    final func waitedInVain() { suspending = Self.retry }

    // MARK: The answer, under the connection's lock

    /// The answer that another thread has left.
    final func takeAnswer() -> Result<Reply, any Error>? {
        guard case .answered(let answer) = handover else { return nil }
        handover = .nothing
        return answer
    }

    /// The task has suspended, and the thread that is about to have its answer does not know.
    final func suspend(_ continuation: UnsafeContinuation<Reply, any Error>) { handover = .suspended(continuation) }

    /// Leaves the answer, or gives the task to resume with it.
    final func leave(_ answer: Result<Reply, any Error>) -> UnsafeContinuation<Reply, any Error>? {
        guard case .suspended(let continuation) = handover else {
            handover = .answered(answer)
            return nil
        }
        handover = .nothing
        return continuation
    }

    /// The task is going to wait for a call, in its job.
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
