import KeyedArchive
import PortTransport
import Synchronization

/// A call of the peer that an `async` method answers: its task, and the executor the task prefers.
///
/// The executor hands every job to the connection's loop. It is one for each call so that the end of the *first* job can be
/// told: only then may the next message to the object start.
final class ServingCall: TaskExecutor, Serving, @unchecked Sendable {
    // `call` and `message` belong to the serving task; `isStarted` and `task` are under `lock`.
    private let connection: Connection
    private let call: InboundCall
    let message: OutboundMessage
    private let lock = Mutex(Progress())

    private struct Progress {
        var isStarted = false
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

    func decoder() throws -> ObjectDecoder {
        do {
            return try connection.argumentDecoder(for: call)
        } catch {
            throw ArgumentFailure(underlying: error)
        }
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
        let job = UnownedJob(job)
        let isFirst = lock.withLock { progress in
            defer { progress.isStarted = true }
            return !progress.isStarted
        }
        connection.loop.perform {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            if isFirst { self.connection.firstJobReturned(self.call) }
        }
    }
}
