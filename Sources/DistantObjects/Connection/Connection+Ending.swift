import PortTransport
import Synchronization

extension Connection {
    // MARK: Closing

    /// Closes in order: new calls are refused, those under way are answered in both directions, both sides say goodbye.
    ///
    /// - Parameter limit: How long that may take; then the connection is cut. A method that never returns must not hold a
    ///   program up. A method of this very connection that awaits it waits for itself until then: there, start a
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
        let wasOpen = transition { state, actions in state.beginClosing(&actions) }
        if let decision { life.withLock { if $0.decision == nil { $0.decision = decision } } }
        guard wasOpen else { return channel.cancel(.byThisSide) }
        finishClosingIfIdle()
    }

    /// Says goodbye once every call that was read is answered, and every answer waited for here has come.
    func finishClosingIfIdle() {
        if state.withLock({ $0.sayGoodbyeIfIdle() }) { channel.finishWriting() }
    }

    func peerSaidGoodbye() {
        let reason = state.withLock { $0.ending.peerGoodbye?.reason }
        if reason == .closed {
            transition { state, actions in state.failUnanswered(self, name, &actions) }
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
            let isAwaited = unsent > 0 && state.withLock { !$0.ending.saidGoodbye }
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

    /// Nothing more is taken from the peer; what is queued, the Goodbye last, is still written.
    func endAfterGoodbye(_ decision: ConnectionEnd) {
        life.withLock { if $0.decision == nil { $0.decision = decision } }
        channel.setNeedsFlush()
        channel.finishWriting()
        // The Goodbye gets a turn to be written; a peer that does not read it cannot hold this side up.
        loop.perform { self.channel.flushAndCancel(.byThisSide) }
    }

    // MARK: The end

    /// Whether the connection takes no more calls, because it has ended or is about to.
    ///
    /// True before any call fails for that reason, so that a loop of calls can ask it. Why it ended, says `ended`.
    public var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Fails what waits for the peer, once nothing more comes from it.
    ///
    /// The first thread that finds the end does this, also one that waits for an answer: an error does not wait for a loop
    /// whose threads are all in methods that block.
    @discardableResult
    func failCalls(_ reason: ChannelEnd, onLoop: Bool) -> ConnectionEnd {
        let decision = life.withLock { $0.decision }
        let failed = state.withContent { content in
            // Answers that have come count.
            var actions = content.delivered.takeAll()
            let end = content.port.endCalls(self, name, &actions.others) { ending in
                if let violation = ending.violation { return .protocolViolation(violation) }
                return decision ?? ending.reasonOfPeer ?? ConnectionEnd(reason)
            }
            return FailedCalls(actions: actions, end: end)
        }
        let end = failed.end
        perform(failed.actions, onLoop: onLoop)
        return end
    }

    package func ended(_ reason: ChannelEnd) {
        let end = failCalls(reason, onLoop: true)
        channel.signalDrivers()
        handshakeEnded(ConnectionError(end.handshakeCode, end.description, context: name))
        var work = letGo()
        guard case .lost = end, let child else {
            work.append(.ended(end))
            return addUserWork(&work, onLoop: true)
        }
        addUserWork(&work, onLoop: true)
        whenEnded(child) { status in
            var work = [Action<Connection>.ended(.lost(status))]
            self.addUserWork(&work, onLoop: false)
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
    /// - Returns: What is left to the user's code: methods are cancelled, and what the peer held of ours is let go. What waits for
    ///   the end is resumed after it, and may count on that.
    @inline(never)
    private func letGo() -> [Action<Connection>] {
        let (work, resting) = state.withContent { content in
            var actions: [Action<Connection>] = []
            content.port.end(&actions)
            return (actions, content.rest.take())
        }
        resting?.dismiss()
        coder.detach()
        return work + [.endRoots]
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
}

/// What is to be done for calls that have failed.
private struct FailedCalls: ~Copyable, Sendable {
    var actions: Actions<Connection>
    let end: ConnectionEnd
}

extension ConnectionEnd {
    /// What the channel's end alone says.
    fileprivate init(_ reason: ChannelEnd) {
        switch reason {
        case .endOfFile: self = .lost(nil)
        case .failed(let error) where error.code == .truncated || error.code == .brokenPipe: self = .lost(nil)
        case .failed(let error):
            self = error.code == .protocolViolation ? .protocolViolation(error.message) : .failed(error)
        case .cancelled(let error): self = .failed(error)
        }
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
