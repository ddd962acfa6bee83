import KeyedArchive
import PortTransport
import Synchronization

/// A call of the peer that an `async` method answers: its task, and the executor the task prefers.
///
/// A scope of its own for each call: whoever starts it runs the task's *first* job itself, and only then may the next
/// message to the object start.
final class ServingCall: CallScope, Serving, @unchecked Sendable {
    // `call`, `result`, `decoder` and `firstJob` belong to the serving task, before it runs to whoever starts it; `lock`
    // protects the task's handle.
    private let call: InboundCall
    /// From the moment the result is there.
    private var result: OutboundMessage?
    /// Until the last argument is decoded.
    private var decoder: ObjectDecoder?
    private let lock = Mutex(Progress())
    /// Kept back from the loop, for whoever starts the task.
    private var firstJob: UnownedJob?
    private var keepsJob = false
    /// The object's next message may start; under the connection's lock.
    private var firstJobIsOver = false

    private struct Progress {
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    init(_ call: InboundCall, on connection: Connection) {
        self.call = call
        super.init(connection)
    }

    var object: AnyObject { call.export.object }
    var encoder: ObjectEncoder {
        if let result { return result.encoder }
        let message = connection.coder.takeMessage()
        result = message
        return message.encoder
    }

    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value {
        if decoder == nil { decoder = try connection.argumentDecoder(for: call) }
        guard let decoder = decoder.take() else { throw ArgumentFailure(underlying: CancellationError()) }
        let value = try decoder.decodeTop(type, reader)
        if isLast {
            connection.coder.recycle(consume decoder)
            connection.argumentsAreDecoded(call)
        } else {
            self.decoder = consume decoder
        }
        return value
    }

    /// Starts the task and runs its first job, until it suspends or returns.
    func start() {
        // No argument will be asked for, so nobody else lets go of the memory the call came in.
        if call.argumentCount == 0 { connection.argumentsAreDecoded(call) }
        // The job is enqueued before the task is known here: to take it from there costs less than the loop's queue.
        keepsJob = true
        let task = Task(executorPreference: self) {
            self.enter()
            do {
                try await self.call.message.run(self)
                self.finish(nil)
            } catch {
                self.finish(error)
            }
        }
        let isCancelled = lock.withLock { progress in
            progress.task = task
            return progress.isCancelled
        }
        if isCancelled { task.cancel() }
        keepsJob = false
        if let firstJob { run(firstJob) }
    }

    override func enqueue(_ job: consuming ExecutorJob) {
        if keepsJob {
            keepsJob = false
            firstJob = UnownedJob(job)
        } else {
            super.enqueue(job)
        }
    }

    private func finish(_ error: (any Error)?) {
        connection.finish(call, result.take() ?? connection.coder.takeMessage(), error: error, isFirstJob: false)
        connection.channel.setNeedsFlush()
        // The task is held by this object and holds it: the circle ends here.
        lock.withLock { $0.task = nil }
    }

    func cancel() {
        let task = lock.withLock { progress in
            progress.isCancelled = true
            return progress.task
        }
        task?.cancel()
        connection.cancelCalls(in: self)
    }

    /// As if the first job had returned: what the call waits for may depend on the object's next message.
    override func waits(_ state: inout PortState) { endFirstJob(&state) }

    /// Called with the connection's lock held.
    func endFirstJob(_ state: inout PortState) {
        guard !firstJobIsOver else { return }
        firstJobIsOver = true
        state.firstJobReturned(call, to: connection.channel)
    }
}
