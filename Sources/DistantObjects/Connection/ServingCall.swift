import KeyedArchive
import PortTransport
import Synchronization

/// A call of the peer that an `async` method answers: its task, and the executor the task prefers.
///
/// The executor hands every job to the connection's loop. It is one for each call so that the end of the *first* job can be
/// told: only then may the next message to the object start.
final class ServingCall: TaskExecutor, JobRunner, Serving, @unchecked Sendable {
    // `call`, `message` and `decoder` belong to the serving task.
    private let connection: Connection
    private let call: InboundCall
    let message: OutboundMessage
    /// Until the last argument is decoded.
    private var decoder: ObjectDecoder?
    private let lock = Mutex(Progress())
    /// Its first job has begun.
    private let isStarted = Atomic<Bool>(false)

    private struct Progress {
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    init(_ call: InboundCall, message: OutboundMessage, on connection: Connection) {
        self.call = call
        self.message = message
        self.connection = connection
    }

    var object: AnyObject { call.export.object }
    var encoder: ObjectEncoder { message.encoder }

    func argument<Value>(_ type: Value.Type, _ reader: AnyValueCoder, isLast: Bool) throws -> Value {
        if decoder == nil { decoder = try connection.argumentDecoder(for: call) }
        guard var decoder = decoder.take() else { throw ArgumentFailure(underlying: CancellationError()) }
        let value = try decoder.decodeTop(type, reader)
        if isLast { connection.coder.recycle(&decoder) } else { self.decoder = decoder }
        return value
    }

    func start(_ run: @escaping @Sendable (any Serving) async throws -> Void) {
        let task = Task(executorPreference: self) {
            do {
                try await run(self)
                self.connection.finish(self.call, self.message, error: nil, isFirstJob: false)
            } catch {
                self.connection.finish(self.call, self.message, error: error, isFirstJob: false)
            }
            // The task is held by this object and holds it: the circle ends here.
            self.lock.withLock { $0.task = nil }
        }
        let isCancelled = lock.withLock { progress in
            progress.task = task
            return progress.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = lock.withLock { progress in
            progress.isCancelled = true
            return progress.task
        }
        task?.cancel()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        connection.loop.enqueue(UnownedJob(job), by: self)
    }

    func run(_ job: UnownedJob) {
        // Jobs of a task follow one another; those of its child tasks come later than its first.
        let isFirst = !isStarted.load(ordering: .relaxed)
        if isFirst { isStarted.store(true, ordering: .relaxed) }
        job.runSynchronously(on: asUnownedTaskExecutor())
        if isFirst { connection.firstJobReturned(call) }
    }
}
