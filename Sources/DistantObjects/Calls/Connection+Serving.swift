import KeyedArchive
import PortTransport
import Synchronization

// Calls of the peer: each object's mailbox gives out one at a time, and what runs here is the user's code.
extension Connection {
    /// How many calls are started before the loop looks for new bytes.
    private static var drainBudget: Int { 256 }

    /// Starts the calls whose turn has come.
    ///
    /// Runs on the loop.
    func drain() {
        let next = state.withLock { state in
            let sent = state.sent
            var actions: [Action<Connection>] = []
            let call = state.startCall(self, &actions)
            return NextCall(call: call, actions: actions, owesFlush: state.sent != sent)
        }
        // The method of the call may block.
        if next.owesFlush { channel.setNeedsFlush() }
        if let call = taken(from: next) { drain(from: call) }
        channel.setNeedsFlush()
    }

    /// Does what starting a call wanted done, and gives the call.
    @inline(__always)
    private func taken(from next: consuming NextCall) -> InboundCall? {
        if !next.actions.isEmpty { perform(next.actions, onLoop: false) }
        return next.call.take()
    }

    /// As `drain()`, beginning with a call that has been started; what the last one answers is for the caller to flush.
    func drain(from first: consuming InboundCall) {
        var next: InboundCall? = first
        for _ in 0..<Self.drainBudget {
            guard let call = next.take() else { return }
            next = serve(call)
            // The next one may block.
            if next != nil { channel.setNeedsFlush() }
        }
        // The last one is started already; the others wait until the loop has looked for new bytes.
        if let call = next {
            loop.perform { [self] in
                var next: InboundCall? = call
                while let call = next.take() {
                    next = serve(call)
                    channel.setNeedsFlush()
                }
            }
        }
    }

    /// Starts the calls that came together with one whose method blocks.
    ///
    /// The thread that takes the loop over runs it.
    private func help() {
        state.withLock { $0.hasHelper = false }
        drain()
    }

    /// Runs a synchronous method, or the task of an asynchronous one until it suspends.
    ///
    /// - Returns: The next call, started in the same critical section that answered this one.
    private func serve(_ call: InboundCall) -> InboundCall? {
        if call.needsHelper { loop.perform { self.help() } }
        if !call.message.isSynchronous, call.refusal(settings, loop) == nil { return start(call) }
        // Of a one-way message nobody takes a result.
        guard call.question != nil else { return finishOneWay(call, error: run(call, nil), isFirstJob: true) }
        let message = coder.takeMessage()
        let failure = run(call, Unmanaged.passUnretained(message.encoder))
        return finish(call, consume message, error: failure, isFirstJob: true)
    }

    /// Runs a synchronous method, or refuses to.
    ///
    /// - Returns: What speaks against the call, or what the method threw.
    private func run(_ call: InboundCall, _ encoder: Unmanaged<ObjectEncoder>?) -> (any Error)? {
        if let refusal = call.refusal(settings, loop) { return refusal }
        do {
            let decoder = try argumentDecoder(for: call)
            try run(call, decoder, encoder)
            coder.recycle(consume decoder)
            return nil
        } catch {
            return MethodFailure.from(error)
        }
    }

    /// A function of its own, whose parameters are held by its caller: no references are counted around the user's code.
    private func run(
        _ call: InboundCall, _ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?
    ) throws {
        try asCurrent { try call.message.runSynchronously(call.export.object, decoder, encoder) }
    }

    /// Starts the task of an asynchronous method; it has suspended or returned when this returns.
    ///
    /// - Returns: The next call.
    @inline(never)
    private func start(_ call: InboundCall) -> InboundCall? {
        let (task, isCancelled) = state.withContent { content in
            let task = content.rest.takeToServe() ?? ServingTask(self)
            task.take(call)
            guard let question = call.question else { return (task, false) }
            return (task, content.port.answers.attach(ServedCall(call, in: task), to: question))
        }
        if isCancelled { task.cancel(call.number) }
        task.start()
        let next = state.withLock { state in
            state.firstJobReturned(call)
            var actions: [Action<Connection>] = []
            let call = state.startCall(self, &actions)
            return NextCall(call: call, actions: actions)
        }
        return taken(from: next)
    }

    /// Whether a task that has served a call may wait for another.
    ///
    /// One that its method has cancelled may not.
    func mayRest(_ task: ServingTask) -> Bool {
        state.withContent { $0.rest.mayRest && $0.port.phase != .ended && !task.isCancelled }
    }

    /// Keeps a task that rests for the next call, or ends it.
    func keep(_ task: ServingTask) {
        let isKept = state.withContent { content in
            guard content.rest.mayRest, content.port.phase != .ended else { return false }
            content.rest.keep(task)
            return true
        }
        if !isKept { task.dismiss() }
    }

    /// A decoder for the arguments of a call; given back with `recycle`, or dropped.
    func argumentDecoder(for call: InboundCall) throws -> ObjectDecoder {
        guard let (body, bulk) = call.body.bytes else {
            throw ArgumentFailure(underlying: ConnectionError(.cancelled, "the caller gave up while it was sending"))
        }
        do {
            return try coder.decoder(body, bulk: bulk, tables: call.tables)
        } catch {
            throw ArgumentFailure(underlying: error)
        }
    }

    /// The method has returned or thrown, or was never run: answers the call; flushing is left to the caller.
    ///
    /// - Parameter isFirstJob: The method has not suspended, so that its return lets the object's next message start.
    /// - Returns: The next call, if `isFirstJob`.
    @discardableResult
    func finish(
        _ call: InboundCall, _ message: consuming OutboundMessage, error: (any Error)?, isFirstJob: Bool
    ) -> InboundCall? {
        var status = ReturnStatus.result
        var failure = error
        if failure == nil {
            do {
                try message.finish()
                if message.mayBeTooLarge { try checkSize(of: message) }
            } catch {
                failure = ResultFailure(underlying: error)
            }
        }
        if let failure { status = encode(failure, of: call, into: message) }
        argumentsAreDecoded(call)
        var answered = answer(call, with: message, status, isFirstJob: isFirstJob)
        if answered.outcome == .tooMuch {
            failure = ConnectionError(
                .overloaded,
                "the method ran, but its result is lost: the answers before it, \(channel.unsentAnswers) bytes, are not read",
                context: call.message.qualifiedName, mayHaveRun: true)
            if let failure { status = encode(failure, of: call, into: message) }
            answered = answer(call, with: message, status, isFirstJob: isFirstJob)
        }
        let isClosing = answered.next.isClosing
        coder.recycle(consume message)
        if let refusal = failure as? ConnectionError {
            reportOnLoop(.callRefused(message: call.message.qualifiedName, refusal))
        }
        if isClosing { finishClosingIfIdle() }
        return taken(from: answered.next)
    }

    @inline(never)
    private func encode(_ failure: any Error, of call: InboundCall, into message: OutboundMessage) -> ReturnStatus {
        let name = call.message.qualifiedName
        let status = coder.encode(failure, of: name, into: message)
        guard message.mayBeTooLarge, (try? checkSize(of: message)) == nil else { return status }
        let refusal = ConnectionError(
            .tooLarge, "the method threw an error too large to send", context: name, mayHaveRun: true)
        return coder.encode(refusal, into: message)
    }

    /// A function of its own, whose parameters are held by its caller: the message can be moved afterwards.
    @inline(__always)
    private func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, isFirstJob: Bool
    ) -> Answered {
        state.withLock { state in
            let outcome = state.answer(call, with: message, status, self)
            guard outcome == .written else { return Answered(outcome: outcome, next: NextCall()) }
            var actions: [Action<Connection>] = []
            let next = isFirstJob ? startNext(after: call, &state, &actions) : nil
            return Answered(
                outcome: .written,
                next: NextCall(call: next, actions: actions, isClosing: state.phase == .closing))
        }
    }

    /// The first job of a call has returned: starts the next one.
    @inline(__always)
    private func startNext(
        after call: InboundCall, _ state: inout PortState<Connection>, _ actions: inout [Action<Connection>]
    ) -> InboundCall? {
        state.firstJobReturned(call)
        return state.startCall(self, &actions)
    }

    /// A part of the time has passed for which calls may wait for the peer to read.
    func answersTick() {
        let mayStart = transition { state, actions in state.answersTick(self, &actions) }
        if mayStart { loop.perform { self.drain() } }
    }

    /// After a burst of large answers.
    func releaseFreeMemory() {
        guard !FreeMemory.release() else { return }
        _ = loop.addTimer(after: .seconds(1)) { _ = FreeMemory.release() }
    }

    /// As `finish`, of a one-way message: its sender is told if it failed.
    @discardableResult
    func finishOneWay(_ call: InboundCall, error: (any Error)?, isFirstJob: Bool) -> InboundCall? {
        argumentsAreDecoded(call)
        // The error's text is the user's code.
        let summary = error.map { coder.summary(of: $0, of: call.message.qualifiedName) }
        let next = state.withLock { state in
            var actions: [Action<Connection>] = []
            guard state.oneWayEnded(call, summary, self, &actions) else { return NextCall(actions: actions) }
            let next = isFirstJob ? startNext(after: call, &state, &actions) : nil
            return NextCall(call: next, actions: actions, isClosing: state.phase == .closing)
        }
        if let error { reportOneWayFailure(error, call.message.qualifiedName) }
        if next.isClosing { finishClosingIfIdle() }
        return taken(from: next)
    }

    /// The memory that the arguments came in is free again.
    func argumentsAreDecoded(_ call: InboundCall) {
        let bulk = call.takeBody()
        if bulk > 0 { consumed(bulk: bulk) }
    }

    private func checkSize(of message: OutboundMessage) throws {
        try state.withLock { try $0.checkSize(of: message) }
    }

    private func reportOneWayFailure(_ failure: any Error, _ name: String) {
        if let refusal = failure as? ConnectionError { return reportOnLoop(.callRefused(message: name, refusal)) }
        let cause = (failure as? ArgumentFailure)?.underlying ?? (failure as? MethodFailure)?.underlying
        reportOnLoop(.oneWayFailedHere(message: name, cause ?? failure))
    }
}

/// The call to be run next, with what its start wants done.
private struct NextCall: ~Copyable, Sendable {
    var call: InboundCall?
    var actions: [Action<Connection>] = []
    var isClosing = false
    var owesFlush = false
}

/// What came of an answer.
private struct Answered: ~Copyable, Sendable {
    let outcome: PortState<Connection>.AnswerOutcome
    var next: NextCall
}

extension InboundCall {
    /// What speaks against running a call whose turn has come.
    @inline(__always)
    func refusal(_ settings: PortSettings, _ loop: any PortLoop) -> ConnectionError? {
        if !isCancelled, !isLate, obstacle == .none, deadline == nil, !message.isUnlisted,
            argumentCount == message.argumentCount
        {
            return nil
        }
        return reason(settings.limits, loop)
    }

    @inline(never)
    private func reason(_ limits: ConnectionLimits, _ loop: any PortLoop) -> ConnectionError? {
        if isCancelled {
            return ConnectionError(
                .cancelled, "the call was cancelled before it started", context: message.name, mayHaveRun: false)
        }
        if isLate {
            return ConnectionError(.closed, "the connection is closing; the call was not run", context: message.name)
        }
        guard !message.isUnlisted else {
            return ConnectionError(
                .noSuchMessage, "\(message.targetName) has no message “\(message.name)”", context: message.name)
        }
        guard argumentCount == message.argumentCount else {
            return ConnectionError(
                .wrongArgument,
                "\(argumentCount) argument\(argumentCount == 1 ? " was" : "s were") given, \(message.signature) takes "
                    + "\(message.argumentCount)", context: message.qualifiedName)
        }
        switch obstacle {
        case .none: break
        case .tables:
            let fault = tables?.fault.map { "\($0)" } ?? ""
            return ConnectionError(
                .wrongArgument, "the arguments cannot be read: \(fault)", context: message.qualifiedName)
        case .calls:
            return ConnectionError(
                .overloaded, "\(limits.runningCalls) calls are running already; try again later",
                context: message.qualifiedName)
        case .answers:
            return ConnectionError(
                .overloaded, "more than \(limits.unreadAnswers) bytes of answers are not read; the call was not run",
                context: message.qualifiedName)
        }
        if let deadline = deadline, deadline < loop.now {
            return ConnectionError(
                .deadlineExceeded, "the deadline passed before the call could start", context: message.qualifiedName,
                mayHaveRun: false)
        }
        return nil
    }
}
