import KeyedArchive
import PortTransport
import Synchronization

/// A task that answers calls of the peer with `async` methods, one call after the other, and the executor it prefers.
///
/// The thread that starts a call runs the task's *first* job for it, and only then may the next message to the object start.
/// Between two calls the task rests: to make a task and to free it costs more than all else that a call does in the runtime.
/// It keeps what the deepest of its calls took of memory, until it ends with the connection or a cancellation.
///
///     idle --(takes a call)--> serving --(answered)--> idle --(the connection keeps it)--> rests, until it takes a call
///                                 |                      |
///                          (its call is cancelled)   (not kept, or dismissed)
///                                 v                      v
///                             cancelled --(answered)--> over
///
/// The way of an argument and of the result, within a call: `decoder` is there from the first argument to the last, `result`
/// from the method's return to the answer.
final class ServingTask: CallScope, Serving, @unchecked Sendable {
    // `progress` is under `lock`; the rest belongs to the task, and before a call runs to the thread that starts it.

    /// Until the method has returned or thrown; held, and by hand, as each argument would count it.
    private var served: Unmanaged<InboundCall>?
    /// From the moment the result is there.
    private var result: OutboundMessage?
    /// Until the last argument is decoded.
    private var decoder: ObjectDecoder?
    /// Where the task goes on after a rest, with whether there is another call.
    private var rest: UnsafeContinuation<Bool, Never>?
    /// Kept back from the loop, for the thread that starts the call.
    private var firstJob: UnownedJob?
    private let progress = Mutex(ServingProgress())

    private var call: Unmanaged<InboundCall> {
        guard let served else { preconditionFailure("a task that rests serves no call") }
        return served
    }

    deinit { served?.release() }

    // MARK: Serving

    var object: AnyObject { call._withUnsafeGuaranteedRef { $0.export.object } }

    func encode<Value>(_ value: Value, _ codec: ValueCodec<Value>) throws {
        // A one-way message has no result.
        guard call._withUnsafeGuaranteedRef({ $0.question != nil }) else { return }
        let message = connection.coder.takeMessage()
        try message.encoder.encodeTop(value, codec)
        result = consume message
    }

    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value {
        if decoder == nil { decoder = try call._withUnsafeGuaranteedRef { try connection.argumentDecoder(for: $0) } }
        guard let decoder = decoder.take() else { throw ArgumentFailure(underlying: CancellationError()) }
        let value = try decoder.decodeTop(type, reader)
        if isLast {
            connection.coder.recycle(consume decoder)
            call._withUnsafeGuaranteedRef { connection.argumentsAreDecoded($0) }
        } else {
            self.decoder = consume decoder
        }
        return value
    }

    private func serve() async {
        enter()
        await withTaskCancellationHandler {
            await serveCalls()
        } onCancel: {
            connection.cancelCalls(in: self)
        }
    }

    /// On no actor, so that it switches executors only where a method may have left its own.
    @concurrent
    private func serveCalls() async {
        while true {
            do {
                try await call._withUnsafeGuaranteedRef({ $0.message }).run(self)
                finish(nil)
            } catch {
                finish(MethodFailure.from(error))
            }
            guard let thread = mayRest() else { return }
            // The form that never leaves this thread; see “Workarounds”.
            let isCalled = await _unsafeInheritExecutor_withUnsafeContinuation { continuation in
                rest = continuation
                // The next call must not start it before this job is over.
                thread.pointee.resting = Unmanaged.passUnretained(self)
            }
            guard isCalled else { return }
        }
    }

    private func finish(_ error: (any Error)?) {
        guard let call = served.take()?.takeRetainedValue() else { return }
        if call.question == nil {
            connection.finishOneWay(call, error: error, isFirstJob: false)
        } else {
            connection.finish(
                call, result.take() ?? connection.coder.takeMessage(), error: error, isFirstJob: false)
        }
        connection.channel.setNeedsFlush()
    }

    /// Whether the task waits for the next call, on this thread.
    private func mayRest() -> UnsafeMutablePointer<ThreadTasks>? {
        // Only this scope's own `run` sees the end of the job.
        guard progress.withLock({ $0.answered() }), let thread = ThreadTasks.current,
            thread.pointee.scope?.toOpaque() == Unmanaged.passUnretained(self).toOpaque(), connection.mayRest(self)
        else {
            progress.withLock { $0.end() }
            return nil
        }
        return thread
    }

    // MARK: Starting

    /// Takes a call over.
    ///
    /// The task is new or rests.
    func take(_ call: InboundCall) {
        served = Unmanaged.passRetained(call)
        progress.withLock { $0.take(call.number) }
    }

    /// Runs the task's first job for the call that it has taken, until it suspends or returns.
    func start() {
        // The method asks for no argument, so the memory of the call is free now.
        call._withUnsafeGuaranteedRef { call in
            if call.argumentCount == 0 { connection.argumentsAreDecoded(call) }
        }
        // The runtime enqueues the job before this returns. Taking it here costs less than a way through the loop's queue.
        let thread = ThreadTasks.current
        thread?.pointee.starting = Unmanaged.passUnretained(self)
        if let rest = rest.take() {
            rest.resume(returning: true)
        } else {
            // Detached: it serves other calls later, and must inherit nothing from the place that starts it.
            let task = Task.detached(executorPreference: self) { await self.serve() }
            if progress.withLock({ $0.started(task) }) { task.cancel() }
        }
        thread?.pointee.starting = nil
        if let firstJob = firstJob.take() { run(firstJob) }
    }

    override var serves: Connection? { served == nil ? nil : connection }

    override var servesOneWay: Bool { served?._withUnsafeGuaranteedRef { $0.question == nil } ?? false }

    override func enqueue(_ job: consuming ExecutorJob) {
        // Only the starting thread's job: others may enqueue other jobs that prefer this executor.
        if let thread = ThreadTasks.current,
            thread.pointee.starting?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        {
            thread.pointee.starting = nil
            firstJob = UnownedJob(job)
        } else {
            super.enqueue(job)
        }
    }

    /// Ends the task, which rests.
    func dismiss() {
        progress.withLock { $0.end() }
        rest.take()?.resume(returning: false)
    }

    // MARK: The connection's

    /// The peer has cancelled a call, or is gone.
    func cancel(_ call: UInt64) { progress.withLock { $0.cancel(call) }?.cancel() }

    /// Counts as the end of the first job: what the call waits for may depend on the object's next message.
    override func waits(_ state: inout PortState<Connection>) {
        served?._withUnsafeGuaranteedRef { state.firstJobReturned($0) }
    }
}

/// A call of the peer and the task that serves it, or did.
struct ServedCall {
    private let task: ServingTask
    private let number: UInt64

    init(_ call: InboundCall, in task: ServingTask) {
        self.task = task
        number = call.number
    }

    func cancel() { task.cancel(number) }
}
