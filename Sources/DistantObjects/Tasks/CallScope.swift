import KeyedArchive
import PortTransport

/// The scope of a task whose calls are cancelled with it: a task in `Connection.run`, or one that serves a call of the peer.
///
/// Calls in a scope need no cancellation handler of their own, which is the most expensive part of a call in the runtime.
/// Tasks that the task starts are outside the scope, and their calls have a handler. The scope is the task's preferred
/// executor. It passes every job to the connection's loop, so that a thread knows the scope whose job it runs.
///
/// The task waits for one call at a time, at first inside its job, without suspending. The handover of an answer from another
/// thread has two forms:
///
///     nothing --(another thread leaves the answer)--> answered --(the task takes it)--> nothing
///     nothing --(the task suspends before the answer is there)--> suspended --(the answer resumes the task)--> nothing
///
/// Usually neither is needed: the waiting thread reads the answer itself, or the question holds the task's continuation.
class CallScope: TaskExecutor, JobRunner, @unchecked Sendable {
    // `task` is written once, before another thread can compare it. The connection's lock protects the rest.

    /// The answer that another thread has left for the task, or the continuation that the task has left for that
    /// thread.
    enum Handover {
        case nothing
        case answered(Result<Reply, any Error>)
        case suspended(UnsafeContinuation<Reply, any Error>)
    }

    let connection: Connection
    /// Whether the task was cancelled: by the peer, the user or itself.
    @exclusivity(unchecked) final var isCancelled = false
    /// Identifies the task, which sets it when it starts; only compared.
    @exclusivity(unchecked) private final var task: UInt = 0

    /// The call that the task waits for.
    @exclusivity(unchecked) final var ticket = Ticket(index: 0, serial: 0)
    /// The number of next calls that suspend at once, because an earlier one waited in vain.
    ///
    /// Only the task uses it.
    @exclusivity(unchecked) private final var suspending = 0
    @exclusivity(unchecked) private final var handover = Handover.nothing
    /// The call of the peer that the task serves, until its method has returned or thrown; only of a `ServingTask`.
    ///
    /// Retained by hand, so that each argument does not retain it again. Only the task uses it; before a call runs, the thread
    /// that starts it.
    @exclusivity(unchecked) final var served: Unmanaged<InboundCall>?

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Makes this the scope of the calling task.
    final func enter() { task = currentTask() }

    /// The scope of the calling task, if it has one on that connection.
    ///
    /// The running job holds it.
    @inline(__always)
    static func current(on connection: Connection) -> Unmanaged<CallScope>? {
        guard let scope = ThreadTasks.current?.pointee.scope,
            scope._withUnsafeGuaranteedRef({ $0.connection === connection && $0.task == currentTask() })
        else { return nil }
        return scope
    }

    /// The number of calls that suspend at once after a wait in vain.
    ///
    /// The row `callback` of `distant-bench` with the API `run` takes this way: its wait brings a call of the peer. No row
    /// compares other numbers.
    private static let retry = 16

    /// Whether the task waits for its next answer inside its job.
    ///
    /// If not, the call counts as one of those that suspend at once after a wait in vain.
    final func mayWait() -> Bool {
        if suspending == 0 { return true }
        suspending -= 1
        return false
    }

    /// Notes that something else than the answer came during the wait inside the job, usually a call of the peer.
    ///
    /// That is likely to happen again, so the next calls suspend at once.
    final func waitedInVain() { suspending = Self.retry }

    // MARK: The answer, under the connection's lock

    /// Takes the answer that another thread has left.
    final func takeAnswer() -> Result<Reply, any Error>? {
        guard case .answered(let answer) = handover else { return nil }
        handover = .nothing
        return answer
    }

    /// Leaves the continuation of the task, which suspended before the answer was there.
    final func suspend(_ continuation: UnsafeContinuation<Reply, any Error>) { handover = .suspended(continuation) }

    /// Leaves the answer for the task; if the task has suspended, returns its continuation instead.
    final func leave(_ answer: Result<Reply, any Error>) -> UnsafeContinuation<Reply, any Error>? {
        guard case .suspended(let continuation) = handover else {
            handover = .answered(answer)
            return nil
        }
        handover = .nothing
        return continuation
    }

    /// The connection whose call the task serves; nil if it serves none.
    final var serves: Connection? { served == nil ? nil : connection }

    /// Whether the task serves a one-way message.
    final var servesOneWay: Bool { served?._withUnsafeGuaranteedRef { $0.question == nil } ?? false }

    func enqueue(_ job: consuming ExecutorJob) {
        connection.channel.enqueue(UnownedJob(job), by: self)
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
