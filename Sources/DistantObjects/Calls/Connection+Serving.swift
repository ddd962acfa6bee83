import KeyedArchive
import PortTransport
import Synchronization

// Serving calls of the peer. Each object's mailbox releases one call at a time. The methods are user code.
extension Connection {
    /// The number of calls that are started before the loop reads again.
    private static var drainBudget: Int { 256 }

    /// Starts the ready calls.
    ///
    /// Runs on the loop.
    func drain() {
        let next = state.withLock { state in
            let sent = state.sent
            var actions: [Action<Connection>] = []
            let call = state.startCall(self, &actions)
            return NextCall(call: call, actions: actions, owesFlush: state.sent != sent)
        }
        // Flushes now, because the method of the call may block.
        if next.owesFlush { channel.setNeedsFlush() }
        if let call = performActions(of: next) { drain(from: call) }
        channel.setNeedsFlush()
    }

    /// Performs the actions of the transition that started a call, and returns the call.
    @inline(__always)
    private func performActions(of next: consuming NextCall) -> InboundCall? {
        if !next.actions.isEmpty { perform(next.actions, onLoop: false) }
        return next.call.take()
    }

    /// Serves a started call, then starts further ready calls.
    ///
    /// The caller flushes the answer of the last one.
    func drain(from first: consuming InboundCall) {
        var next: InboundCall? = first
        for _ in 0..<Self.drainBudget {
            guard let call = next.take() else { return }
            next = serve(call)
            // Flushes now, because the next method may block.
            if next != nil { channel.setNeedsFlush() }
        }
        // This call is already started. Further calls wait until the loop has read again.
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

    /// Starts the calls that arrived together with a call whose method blocks.
    ///
    /// Runs on the thread that takes over the loop from the blocked one.
    private func helpBlockedThread() {
        state.withLock { $0.serving.hasHelper = false }
        drain()
    }

    /// Runs a call: a synchronous method, or the task of an `async` method until it suspends.
    ///
    /// - Returns: The next call, which was started under the same lock that answered this one.
    private func serve(_ call: InboundCall) -> InboundCall? {
        if call.place.needsHelper { loop.perform { self.helpBlockedThread() } }
        if !call.isSynchronous, refusal(of: call) == nil { return startTask(for: call) }
        var graph: ObjectDecoder?
        // The result of a one-way message is not encoded.
        guard call.question != nil else {
            return finishOneWay(call, error: run(call, nil, keeping: &graph), startsNext: true)
        }
        let message = coder.takeMessage()
        let failure = run(call, Unmanaged.passUnretained(message.encoder), keeping: &graph)
        guard let decoder = graph.take() else {
            return finish(call, consume message, error: failure, startsNext: true)
        }
        // The caller goes on while the graph is freed. The loop starts further calls: a `deinit` may wait for one of them.
        // The decoder reads from the body until it is recycled.
        let body = call.body
        finish(call, consume message, error: failure, startsNext: false)
        channel.flush()
        if state.withLock({ $0.serving.hasStartable }) { loop.perform { self.drain() } }
        coder.recycle(consume decoder)
        withExtendedLifetime(body) {}
        return nil
    }

    /// Why a started call must not run; nil if it may.
    @inline(__always)
    private func refusal(of call: InboundCall) -> (any Error)? {
        call.mayRun ? nil : call.refusal(settings.conversation.limits, loop)
    }

    /// Runs a synchronous method, unless the call is refused.
    ///
    /// - Parameter graph: Is set to the decoder of a call that has an answer if the arguments are many objects. To free
    ///   them may take as long as the method, so the caller answers first.
    /// - Returns: The refusal, or the error that the method threw.
    private func run(
        _ call: InboundCall, _ encoder: Unmanaged<ObjectEncoder>?, keeping graph: inout ObjectDecoder?
    ) -> (any Error)? {
        if let refusal = refusal(of: call) { return refusal }
        do {
            let decoder = try argumentDecoder(for: call)
            try run(call, decoder, encoder)
            if encoder != nil, decoder.hasManyObjects {
                graph = consume decoder
            } else {
                coder.recycle(consume decoder)
            }
            return nil
        } catch {
            return MethodFailure.from(error)
        }
    }

    /// Runs the method.
    ///
    /// It is a separate function so that its parameters, which the caller holds, are not retained.
    private func run(
        _ call: InboundCall, _ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?
    ) throws {
        if call.hasContext { return try runInContext(call, decoder, encoder) }
        try asCurrent { try call.run(decoder, encoder) }
    }

    @inline(never)
    private func runInContext(
        _ call: InboundCall, _ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?
    ) throws {
        try CallContext.serving(call.context) {
            try asCurrent { try call.run(decoder, encoder) }
        }
    }

    /// Runs the task of an `async` method until the method has suspended or returned.
    ///
    /// - Returns: The next call.
    @inline(never)
    private func startTask(for call: InboundCall) -> InboundCall? {
        let (task, isCancelled) = state.withContent { content in
            let task = content.rest.takeToServe() ?? ServingTask(self)
            task.take(call)
            guard let question = call.question else { return (task, false) }
            return (task, content.conversation.serving.answers.attach(ServedCall(call, in: task), to: question))
        }
        if isCancelled { task.cancel(call.number) }
        task.start()
        let next = state.withLock { state in
            state.firstJobReturned(call)
            var actions: [Action<Connection>] = []
            let call = state.startCall(self, &actions)
            return NextCall(call: call, actions: actions)
        }
        return performActions(of: next)
    }

    /// Whether a task that has served a call may wait for another.
    ///
    /// A cancelled task may not.
    func mayRest(_ task: ServingTask) -> Bool {
        state.withContent { $0.rest.mayRest && $0.conversation.phase != .ended && !task.isCancelled }
    }

    /// Keeps a resting task for the next call, or ends it.
    func keep(_ task: ServingTask) {
        let isKept = state.withContent { content in
            guard content.rest.mayRest, content.conversation.phase != .ended else { return false }
            content.rest.keep(task)
            return true
        }
        if !isKept { task.dismiss() }
    }

    /// A decoder for the arguments of a call.
    ///
    /// The caller returns it with `recycle`, or drops it.
    func argumentDecoder(for call: InboundCall) throws -> ObjectDecoder {
        do {
            if let bytes = call.plainArguments { return try coder.decoder(bytes) }
        } catch {
            throw ArgumentFailure(underlying: error)
        }
        guard let (body, largeBytes) = call.body.bytes else { throw call.lostArguments }
        do {
            return try coder.decoder(body, largeBytes: largeBytes, tables: call.tables)
        } catch {
            throw ArgumentFailure(underlying: error)
        }
    }

    /// Answers a call whose method has returned, thrown or was not run.
    ///
    /// The caller flushes.
    ///
    /// - Parameter startsNext: Whether the calling thread serves the next ready call, of any object.
    /// - Returns: The next call, if `startsNext`.
    @discardableResult
    func finish(
        _ call: InboundCall, _ message: consuming OutboundMessage, error: (any Error)?, startsNext: Bool
    ) -> InboundCall? {
        var status = ReturnStatus.result
        var failure = error
        if failure == nil {
            do {
                try message.finish()
                if message.mayBeTooLarge { try checkAnswer(message) }
            } catch {
                failure = ResultFailure(underlying: error)
            }
        }
        var kept: KeptAnswer.Outcome?
        if call.flags.contains(.keepAnswer) {
            kept = answerToKeep(of: call, message, failure)
            if call.flags.contains(.promise), case .failed(let error)? = kept { failure = failure ?? error }
        }
        if let failure { status = encode(failure, of: call, into: message) }
        argumentsAreDecoded(call)
        var answered = answer(call, with: message, status, keeping: kept, startsNext: startsNext)
        if answered.outcome == .tooMuch {
            failure = ConnectionError(
                .overloaded,
                "the method ran, but its result is lost: the answers before it, \(channel.unsentAnswers) bytes, are not read",
                context: call.message.qualifiedName, mayHaveRun: true)
            if let failure { status = encode(failure, of: call, into: message) }
            answered = answer(call, with: message, status, keeping: kept, startsNext: startsNext)
        }
        let isClosing = answered.next.isClosing
        coder.recycle(consume message)
        if let refusal = failure as? ConnectionError {
            reportOnLoop(.callRefused(message: call.message.qualifiedName, refusal))
        }
        if isClosing { finishClosingIfIdle() }
        if answered.next.hasCalls { loop.perform { self.drain() } }
        return performActions(of: answered.next)
    }

    @inline(never)
    private func encode(_ failure: any Error, of call: InboundCall, into message: OutboundMessage) -> ReturnStatus {
        let name = call.message.qualifiedName
        let status = coder.encode(call.passedDeadline(with: failure, at: now) ?? failure, of: name, into: message)
        guard message.mayBeTooLarge else { return status }
        let refusal: ConnectionError
        do {
            try checkSize(of: message)
            return status
        } catch let error as ConnectionError where error.code == .foreignReference {
            refusal = ConnectionError(
                .notEncodable, "the method threw an error that cannot be sent: \(error.message)", context: name,
                mayHaveRun: true)
        } catch {
            refusal = ConnectionError(
                .tooLarge, "the method threw an error too large to send", context: name, mayHaveRun: true)
        }
        return coder.encodeText(of: failure, into: message) ? .thrown : coder.encode(refusal, into: message)
    }

    /// Writes an answer.
    ///
    /// It is a separate function so that the caller can still move the message.
    @inline(__always)
    private func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, keeping kept: KeptAnswer.Outcome?,
        startsNext: Bool
    ) -> Answered {
        state.withLock { state in
            var actions: [Action<Connection>] = []
            let outcome = state.answer(call, with: message, status, keeping: kept, self, &actions)
            guard outcome == .written else { return Answered(outcome: outcome, next: NextCall()) }
            state.firstJobReturned(call)
            let next = startsNext ? state.startCall(self, &actions) : nil
            // Messages to the answer may be ready now.
            let hasCalls = kept != nil && !startsNext && state.serving.hasStartable
            return Answered(
                outcome: .written,
                next: NextCall(
                    call: next, actions: actions, isClosing: state.phase == .closing, hasCalls: hasCalls))
        }
    }

    /// Counts one tick of the time for which calls may wait for the peer to read its answers.
    func answersTick() {
        let mayStart = transition { state, actions in state.answersTick(self, &actions) }
        channel.setNeedsFlush()
        if mayStart { loop.perform { self.drain() } }
    }

    /// Returns free memory to the system, after a burst of large answers.
    func releaseFreeMemory() {
        guard !FreeMemory.release() else { return }
        _ = loop.addTimer(after: .seconds(1)) { _ = FreeMemory.release() }
    }

    /// Ends a one-way message as `finish` ends a call, and notifies its sender if it failed.
    @discardableResult
    func finishOneWay(_ call: InboundCall, error: (any Error)?, startsNext: Bool) -> InboundCall? {
        argumentsAreDecoded(call)
        if let error { return finishFailedOneWay(call, error, startsNext: startsNext) }
        return finishOneWay(call, startsNext: startsNext) { state, actions in state.oneWayEnded(call, self, &actions) }
    }

    @inline(never)
    private func finishFailedOneWay(_ call: InboundCall, _ error: any Error, startsNext: Bool) -> InboundCall? {
        // The error's description is user code, so it is made without the lock.
        let summary = coder.summary(of: error, of: call.message.qualifiedName)
        reportOneWayFailure(error, call.message.qualifiedName)
        return finishOneWay(call, startsNext: startsNext) { state, actions in
            state.oneWayFailed(call, summary, self, &actions)
        }
    }

    @inline(__always)
    private func finishOneWay(
        _ call: InboundCall, startsNext: Bool,
        _ end: (inout Conversation<Connection>, inout [Action<Connection>]) -> Bool
    ) -> InboundCall? {
        let next = state.withLock { state in
            var actions: [Action<Connection>] = []
            guard end(&state, &actions) else { return NextCall(actions: actions) }
            state.firstJobReturned(call)
            let next = startsNext ? state.startCall(self, &actions) : nil
            return NextCall(call: next, actions: actions, isClosing: state.phase == .closing)
        }
        if next.isClosing { finishClosingIfIdle() }
        return performActions(of: next)
    }

    /// Frees the memory of a call's arguments, which are decoded.
    func argumentsAreDecoded(_ call: InboundCall) {
        let largeBytes = call.takeBody()
        call.letGoOfBlobs()
        if largeBytes > 0 { consumed(largeBytes: largeBytes) }
    }

    private func checkSize(of message: OutboundMessage) throws {
        try state.withLock { try $0.session.checkSize(of: message, self) }
    }

    /// Checks that a result can be sent.
    private func checkAnswer(_ message: OutboundMessage) throws {
        try checkSize(of: message)
        for case .proxy(.answer) in message.encoder.externals.lazy.map({ self.entry(of: $0) }) {
            throw ConnectionError(.notEncodable, "a promise is no part of a result: return its resolved()")
        }
    }

    private func reportOneWayFailure(_ failure: any Error, _ name: String) {
        if let refusal = failure as? ConnectionError { return reportOnLoop(.callRefused(message: name, refusal)) }
        let cause = (failure as? ArgumentFailure)?.underlying ?? (failure as? MethodFailure)?.underlying
        reportOnLoop(.oneWayFailedHere(message: name, cause ?? failure))
    }
}

/// The call to run next, with the actions of the transition that started it.
private struct NextCall: ~Copyable, Sendable {
    var call: InboundCall?
    var actions: [Action<Connection>] = []
    var isClosing = false
    var owesFlush = false
    /// Whether other calls have become ready, which the loop has to start.
    var hasCalls = false
}

/// The outcome of an answer, and the next call.
private struct Answered: ~Copyable, Sendable {
    let outcome: AnswerOutcome
    var next: NextCall
}
