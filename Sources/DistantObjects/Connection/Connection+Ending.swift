import PortTransport
import Synchronization

extension Connection {
    /// Who waits for the connection's beginning and end.
    struct Life {
        var handshake: CheckedContinuation<Void, any Error>?
        var handshakeHook: (@Sendable (Bool) -> Void)?
        var handshakeOutcome: Result<Void, any Error>?
        var handshakeTimer: TimerToken?
        /// Bounds how long the peer may keep the stream open after a Goodbye that ended it.
        var goodbyeTimer: TimerToken?
        var keepaliveTimer: TimerToken?
        var dropTimer: TimerToken?
        var end: ConnectionEnd?
        /// Why this side ended it, if it did.
        var decision: ConnectionEnd?
        var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
        /// The listener's, which has accepted the connection.
        var endHook: (@Sendable () -> Void)?
    }

    // MARK: Closing

    /// Closes in order: new calls are refused, those under way are answered in both directions, both sides say goodbye.
    ///
    /// - Parameter limit: How long that may take; then the connection is cut. A method that never returns must not hold a
    ///   program up for ever. A method of this very connection that awaits it waits for itself until then: there, start a
    ///   task that closes.
    /// - Returns: When the connection has ended and nothing of it is left: the one-way messages that did not run, as far as
    ///   that is known and nothing has thrown it yet. Known are those that the peer refused or did not take, and those that
    ///   were not written.
    @discardableResult
    public func close(within limit: Duration = .seconds(5)) async -> OneWayLosses {
        beginClosing(decision: .closedHere)
        let timer = loop.addTimer(after: limit) { self.invalidate() }
        _ = await ended
        loop.cancelTimer(timer)
        return state.withLock { $0.oneWays.losses }
    }

    /// Ends the connection at once: every call that waits fails, on both sides.
    public func invalidate() {
        life.withLock { life in
            if life.decision == nil { life.decision = .closedHere }
        }
        channel.cancel(.byThisSide)
    }

    /// Why the connection ended, once it has.
    ///
    /// Any number of tasks may wait.
    public var ended: ConnectionEnd {
        get async {
            await withCheckedContinuation { continuation in
                let end = life.withLock { life in
                    if life.end == nil { life.waiting.append(continuation) }
                    return life.end
                }
                if let end { continuation.resume(returning: end) }
            }
        }
    }

    /// Whether `ended` has a value.
    var hasEnded: Bool { life.withLock { $0.end != nil } }

    /// Calls the hook once the connection has ended; to be set before it begins.
    func whenEnded(_ hook: @escaping @Sendable () -> Void) { life.withLock { $0.endHook = hook } }

    private func beginClosing(decision: ConnectionEnd?) {
        let (pending, wasOpen) = state.withLock { state -> ([PendingCommit], Bool) in
            switch state.phase {
            case .open:
                state.phase = .closing
                return (state.pending.removeAll(), true)
            case .handshake:
                return ([], false)
            case .closing, .ending, .ended:
                return ([], true)
            }
        }
        if let decision { life.withLock { if $0.decision == nil { $0.decision = decision } } }
        guard wasOpen else { return channel.cancel(.byThisSide) }
        let failures = failures(
            of: pending, ConnectionError(.notSent, "the connection is closing; the call was not sent"))
        perform(failures, onLoop: false)
        finishClosingIfIdle()
    }

    /// Says goodbye once every call that was read is answered, and every answer waited for here has come.
    func finishClosingIfIdle() {
        let saidGoodbye = state.withLock { state in
            guard state.phase == .closing, state.unfinished == 0, !state.goodbyeSent, !state.questions.isAwaited else {
                return false
            }
            state.commitGoodbye(.closed, "", to: channel)
            return true
        }
        if saidGoodbye { channel.finishWriting() }
    }

    func peerSaidGoodbye() {
        let reason = state.withLock { $0.peerGoodbye?.reason }
        if reason == .closed {
            failUnanswered()
            beginClosing(decision: nil)
            boundGoodbye(unsent: .max)
        } else {
            channel.finishWriting()
            // It takes nothing more, so nothing has to be waited for.
            boundGoodbye(unsent: 0)
        }
    }

    /// Ends a connection whose peer has said goodbye and then keeps the stream open.
    ///
    /// - Parameter unsent: The bytes that lay unsent when this was looked at last. While the peer takes some, and while it
    ///   may wait for answers of methods that run here, the end is not due.
    private func boundGoodbye(unsent: Int) {
        let timer = loop.addTimer(after: configuration.handshakeTimeout) { [self] in
            let isAwaited = unsent > 0 && state.withLock { !$0.goodbyeSent }
            let left = channel.queuedBytes
            guard isAwaited || left < unsent && left > 0 else { return channel.cancel(.byThisSide) }
            boundGoodbye(unsent: isAwaited ? .max : left)
        }
        let isOver = life.withLock { life in
            life.goodbyeTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// The peer has answered, before its goodbye, every call it took: no answer comes to the others.
    ///
    /// They may be what a method waits for whose answer the peer waits for.
    private func failUnanswered() {
        let (goodbye, questions, pings) = state.withLock { state in
            return (state.peerGoodbye, state.questions.removeUnanswered(), state.takeControls())
        }
        let end = ConnectionEnd.closedByPeer(goodbye?.text ?? "")
        let unanswered = PortState.Unanswered(
            questions: questions, pending: [], controls: pings, entered: goodbye?.entered)
        perform(failures(of: unanswered, end), onLoop: false)
    }

    /// Nothing more is taken from the peer; what is queued, the Goodbye last, is still written.
    func endAfterGoodbye(_ decision: ConnectionEnd) {
        life.withLock { if $0.decision == nil { $0.decision = decision } }
        channel.setNeedsFlush()
        channel.finishWriting()
        // The Goodbye gets a turn to be written; a peer that does not read it cannot hold this side up.
        loop.perform { self.channel.flushAndCancel(.byThisSide) }
    }

    /// Takes back what waited for credit.
    private func failures(of pending: [PendingCommit], _ error: ConnectionError) -> [Completion] {
        var failures: [Completion] = []
        for item in pending {
            switch item.kind {
            case .question(let ticket, let waiter):
                let timer = state.withLock { state -> TimerToken? in
                    guard state.questions[ticket] != nil else { return nil }
                    return state.questions.finish(ticket.index).timer
                }
                if let timer { loop.cancelTimer(timer) }
                failures.append(.fail(waiter, error))
            case .oneWay(_, let waiter):
                failures.append(.oneWay(waiter, error))
            }
            failures.append(.recycle(item.message))
        }
        return failures
    }

    // MARK: The end

    /// Whether the connection takes no more calls, because it has ended or is about to.
    ///
    /// True before any call fails for that reason, so that a loop of calls can ask it. Why it ended, says `ended`.
    public var isEnded: Bool {
        state.withLock { state in
            switch state.phase {
            case .handshake: false
            case .open: state.peerGoodbye != nil
            case .closing, .ending, .ended: true
            }
        }
    }

    /// Fails what waits for the peer, once nothing more comes from it.
    ///
    /// The first thread that finds the end does this, also one that waits for an answer: an error does not wait for a loop
    /// whose threads are all in methods that block.
    @discardableResult
    func failCalls(_ reason: ChannelEnd, onLoop: Bool) -> ConnectionEnd {
        let (end, unanswered) = state.withLock { state -> (ConnectionEnd, PortState.Unanswered?) in
            if let verdict = state.verdict { return (verdict, nil) }
            let end = connectionEnd(reason, state.violation, state.peerGoodbye?.reason, state.peerGoodbye?.text)
            state.oneWays.ended(end) { channel.mayBeWritten($0) }
            return (end, state.endCalls(end))
        }
        guard let unanswered else { return end }
        // Answers that have come count.
        state.withLock { $0.takeCompletions() }.perform(on: self, onLoop: onLoop)
        perform(failures(of: consume unanswered, end), onLoop: onLoop)
        return end
    }

    /// A function of its own: when it returns, nothing but its result refers to what waited.
    @inline(never)
    private func failures(of unanswered: consuming PortState.Unanswered, _ end: ConnectionEnd) -> [Completion] {
        var failures = unanswered.questions.flatMap { self.failures(of: $0, end, unanswered.entered) }
        for control in unanswered.controls {
            failures.append(.pong(control, ConnectionError(.closed, end.description, context: name)))
        }
        let notSent = ConnectionError(.notSent, "\(end); the call was not sent", context: name)
        return failures + self.failures(of: unanswered.pending, notSent)
    }

    private func failures(of question: Question, _ end: ConnectionEnd, _ entered: UInt64?) -> [Completion] {
        var failures: [Completion] = []
        if let timer = question.timer { failures.append(.cancelTimer(timer)) }
        if let waiter = question.waiter {
            failures.append(.fail(waiter, outcome(of: question.number, end, entered)))
        }
        return failures
    }

    package func ended(_ reason: ChannelEnd) {
        let end = failCalls(reason, onLoop: true)
        channel.signalDrivers()
        handshakeEnded(ConnectionError(end.handshakeCode, end.description, context: name))
        var work = letGo()
        guard case .lost = end, let child else {
            work.append(.ended(end))
            return hand(&work, onLoop: true)
        }
        hand(&work, onLoop: true)
        whenEnded(child) { status in
            var work = [Completion.ended(.lost(status))]
            self.hand(&work, onLoop: false)
        }
    }

    /// How long a helper may take to end after its connection has.
    private static let lastMoment = Duration.seconds(1)

    /// Calls the action once, with how the helper ended, or with nil if it goes on.
    ///
    /// The system closes the descriptors of a process a moment before it can say how that ended.
    private func whenEnded(_ child: ChildProcess, _ action: @escaping @Sendable (ChildProcess.ExitStatus?) -> Void) {
        let waiting = Waiting(action)
        let timer = loop.addTimer(after: Self.lastMoment) { waiting.end(nil) }
        child.whenExited { [loop] status in
            loop.cancelTimer(timer)
            waiting.end(status)
        }
    }

    /// Empties every table.
    ///
    /// - Returns: What is left to the user's code: methods are cancelled, and what the peer held of ours is let go. Who waits for
    ///   the end is told after it, and may count on that.
    @inline(never)
    private func letGo() -> [Completion] {
        let (remains, serving, resting) = state.withLock { $0.end() }
        resting?.dismiss()
        coder.detach()
        return serving.map { .cancel($0) } + [.release(remains), .perform { [roots] in roots.end() }]
    }

    /// The last that the user hears of the connection.
    func tell(_ end: ConnectionEnd) {
        if configuration.onEvent != nil { LoopWatch.shared.remove(self) }
        report(.ended(end))
        let (waiting, timers) = life.withLock { life in
            life.end = end
            defer { life.waiting = [] }
            return (life.waiting, [life.goodbyeTimer, life.keepaliveTimer, life.dropTimer])
        }
        for case let timer? in timers { loop.cancelTimer(timer) }
        for continuation in waiting { continuation.resume(returning: end) }
        life.withLock { $0.endHook.take() }?()
    }

    /// Called with the state's lock held.
    private func connectionEnd(
        _ reason: ChannelEnd, _ violation: String?, _ goodbye: GoodbyeReason?, _ text: String?
    ) -> ConnectionEnd {
        if let violation { return .protocolViolation(violation) }
        if let decision = life.withLock({ $0.decision }) { return decision }
        if let text { return goodbye == .closed ? .closedByPeer(text) : .refused(text) }
        switch reason {
        case .endOfFile: return .lost(nil)
        case .failed(let error) where error.code == .truncated || error.code == .brokenPipe: return .lost(nil)
        case .failed(let error):
            return error.code == .protocolViolation ? .protocolViolation(error.message) : .failed(error)
        case .cancelled(let error): return .failed(error)
        }
    }

    private func outcome(of number: UInt64, _ end: ConnectionEnd, _ entered: UInt64?) -> ConnectionError {
        if !channel.mayBeWritten(number) {
            return ConnectionError(.notSent, "\(end); the call was not sent", context: name)
        }
        if let entered, number > entered {
            return ConnectionError(.notDelivered, "\(end); the peer did not take the call", context: name)
        }
        return ConnectionError(
            .outcomeUnknown, "\(end) before the answer came; the call may have run or not", context: name)
    }
}

/// Something that waits for the first of two events.
private final class Waiting: Sendable {
    private let action: Mutex<(@Sendable (ChildProcess.ExitStatus?) -> Void)?>

    init(_ action: @escaping @Sendable (ChildProcess.ExitStatus?) -> Void) { self.action = Mutex(action) }

    func end(_ status: ChildProcess.ExitStatus?) { action.withLock { $0.take() }?(status) }
}

extension TransportError {
    static var byThisSide: TransportError { TransportError(.cancelled, "this side ended the connection") }
}
