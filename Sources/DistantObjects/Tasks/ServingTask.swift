import KeyedArchive
import PortTransport
import Synchronization

/// A task that runs `async` methods for calls of the peer, one call after the other, and its preferred executor.
///
/// The thread that starts a call runs the task's *first* job for it. Only after that job may the next message to the object
/// start. Between two calls the task rests, because making and freeing a task is the most expensive part of a call in the
/// runtime: see the row `callback` of `distant-bench`, and the budget of `call-of-task` in `AllocationTests`. A resting task
/// keeps the memory of its largest call until the connection ends or a call is cancelled.
///
///     idle --(takes a call)--> serving --(answered)--> idle --(the connection keeps it)--> rests, until it takes a call
///                                 |                      |
///                          (its call is cancelled)   (not kept, or dismissed)
///                                 v                      v
///                             cancelled --(answered)--> over
///
final class ServingTask: CallScope, AsyncCall, @unchecked Sendable {
    // `progress` has its own lock. The rest belongs to the task; before a call runs, to the thread that starts it.

    /// The result, from the method's return until the answer is written.
    private var result: OutboundMessage?
    /// The decoder, from the first argument to the last.
    private var decoder: ObjectDecoder?
    /// Resumes the resting task, with whether there is another call.
    private var rest: UnsafeContinuation<Bool, Never>?
    /// The first job for a call, which the starting thread runs instead of the loop.
    private var firstJob: UnownedJob?
    private let progress = Mutex(ServingProgress())

    private var call: Unmanaged<InboundCall> {
        guard let served else { preconditionFailure("a task that rests serves no call") }
        return served
    }

    deinit { served?.release() }

    // MARK: The call

    var object: AnyObject { call._withUnsafeGuaranteedRef { $0.export.object } }

    func encode<Value>(_ value: Value, _ writer: Unmanaged<AnyValueCoder>) throws {
        // A one-way message has no result.
        guard call._withUnsafeGuaranteedRef({ $0.question != nil }) else { return }
        let message = connection.coder.takeMessage()
        try message.encoder.encodeTop(value, writer)
        result = consume message
    }

    func answer(_ write: @Sendable (OutboundMessage) async throws -> Void) async throws {
        let message = connection.coder.takeMessage()
        try await write(message)
        result = message
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

    func run(_ method: MessageBody, on object: AnyObject) throws {
        let decoder = try call._withUnsafeGuaranteedRef { call in
            call.argumentCount == 0
                ? CoderPool.decoder(for: connection.coder) : try connection.argumentDecoder(for: call)
        }
        let hasAnswer = call._withUnsafeGuaranteedRef { $0.question != nil }
        let message = hasAnswer ? connection.coder.takeMessage() : nil
        try method.runSynchronously(object, decoder, (message?.encoder).map { Unmanaged.passUnretained($0) })
        connection.coder.recycle(consume decoder)
        result = message
    }

    func pause(for duration: Duration) async throws {
        _ = await connection.ended(timeout: duration)
        try Task.checkCancellation()
    }

    private func serve() async {
        enter()
        await withTaskCancellationHandler {
            await Connection.$served.withValue(ObjectIdentifier(connection)) { await serveCalls() }
        } onCancel: {
            connection.cancelCalls(in: self)
        }
    }

    /// Serves calls until the task ends.
    ///
    /// It runs on no actor, so that it switches executors only after a method that has changed them.
    @concurrent
    private func serveCalls() async {
        while true {
            do {
                let message = call._withUnsafeGuaranteedRef { $0.message }
                if message.isPassedOn {
                    try await passOn()
                } else if call._withUnsafeGuaranteedRef({ $0.hasContext }) {
                    try await CallContext.serving(call._withUnsafeGuaranteedRef { $0.context }) {
                        try await message.run(self)
                    }
                } else {
                    try await message.run(self)
                }
                finish(nil)
            } catch {
                finish(MethodFailure.from(error))
            }
            guard let thread = mayRest() else { return }
            // This form of the function does not switch executors; see “Workarounds”. So the task stays on `thread`, whose
            // job it ends. It pays in the row `callback` of `distant-bench`, whose method is `async`.
            let isCalled = await _unsafeInheritExecutor_withUnsafeContinuation { continuation in
                rest = continuation
                // The next call must not start the task before this job is over.
                thread.pointee.resting = Unmanaged.passUnretained(self)
            }
            guard isCalled else { return }
        }
    }

    /// Sends the call to its object, which is one of the peer's, and takes over the answer.
    private func passOn() async throws {
        let (message, name, isOneWay) = try call._withUnsafeGuaranteedRef { call in
            let message = try connection.message(passingOn: call)
            // The answer may need the room in the window that the arguments take.
            connection.argumentsAreDecoded(call)
            return (message, call.message.name, call.question == nil)
        }
        if isOneWay { return try await connection.sendOneWay(message) }
        let reply = try await Connection.sendCall(message, over: .passUnretained(connection))
        try await answer { try connection.pass(reply, of: name, into: $0, nil, isSentBack: true) }
    }

    private func finish(_ error: (any Error)?) {
        guard let call = served.take()?.takeRetainedValue() else { return }
        if call.question == nil {
            connection.finishOneWay(call, error: error, startsNext: false)
        } else {
            connection.finish(
                call, result.take() ?? connection.coder.takeMessage(), error: error, startsNext: false)
        }
        connection.channel.setNeedsFlush()
    }

    /// The state of this thread, if the task may rest until the next call.
    private func mayRest() -> UnsafeMutablePointer<ThreadTasks>? {
        // Only `run` of this scope notices the end of the job.
        guard progress.withLock({ $0.answered() }), let thread = ThreadTasks.current,
            thread.pointee.scope?.toOpaque() == Unmanaged.passUnretained(self).toOpaque(), connection.mayRest(self)
        else {
            progress.withLock { $0.end() }
            return nil
        }
        return thread
    }

    // MARK: Starting

    /// Gives a new or resting task a call.
    func take(_ call: InboundCall) {
        served = Unmanaged.passRetained(call)
        progress.withLock { $0.take(call.number) }
    }

    /// Runs the task's first job for its call, until the method suspends or returns.
    func start() {
        // Without arguments to decode, the memory of the call can be freed now.
        call._withUnsafeGuaranteedRef { call in
            if call.argumentCount == 0, !call.message.isPassedOn { connection.argumentsAreDecoded(call) }
        }
        // The runtime enqueues the job before it returns. Running it here saves an iteration of the loop and two locks, in the
        // row `callback` of `distant-bench`.
        let thread = ThreadTasks.current
        thread?.pointee.starting = Unmanaged.passUnretained(self)
        if let rest = rest.take() {
            rest.resume(returning: true)
        } else {
            // It is detached because it serves other calls later and must not inherit from the code that starts it.
            let task = Task.detached(executorPreference: self) { await self.serve() }
            if progress.withLock({ $0.started(task) }) { task.cancel() }
        }
        thread?.pointee.starting = nil
        if let firstJob = firstJob.take() { run(firstJob) }
    }

    override func enqueue(_ job: consuming ExecutorJob) {
        // Keeps only the job that the starting thread enqueues. Other threads may enqueue other jobs of this executor.
        if let thread = ThreadTasks.current,
            thread.pointee.starting?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        {
            thread.pointee.starting = nil
            firstJob = UnownedJob(job)
        } else {
            super.enqueue(job)
        }
    }

    /// Ends the resting task.
    func dismiss() {
        progress.withLock { $0.end() }
        rest.take()?.resume(returning: false)
    }

    // MARK: Called by the connection

    /// Cancels a call because the peer has cancelled it or the connection has ended.
    func cancel(_ call: UInt64) { progress.withLock { $0.cancel(call) }?.cancel() }
}

/// A call of the peer and the task that serves or served it.
struct ServedCall {
    private let task: ServingTask
    private let number: UInt64

    init(_ call: InboundCall, in task: ServingTask) {
        self.task = task
        number = call.number
    }

    func cancel() { task.cancel(number) }
}
