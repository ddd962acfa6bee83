import PortTransport
import Synchronization

extension Connection {
    // MARK: Closing

    /// Closes the connection in order.
    ///
    /// New calls are refused, calls under way are answered in both directions, and both sides say goodbye. Returns once the
    /// connection is torn down. If `launch` has started the other process, returns once that has ended, too, and `child` has
    /// its exit status: see `Configuration.exitTimeout`.
    ///
    /// A method that serves a call of this connection must not await this: it would wait for itself until the time-out. Close
    /// the connection from a new task instead.
    ///
    /// - Parameter timeout: How long this may take. After that the connection is cut, so that a method that never returns does
    ///   not block the program, and a process that `launch` has started is asked to end at once.
    /// - Returns: The one-way messages that did not run, except those already reported by an error: messages that the peer
    ///   refused or did not take, and messages that were not written.
    @discardableResult
    public func close(timeout: Duration = .seconds(5)) async -> OneWayLosses {
        beginClosing(timeout: timeout)
        _ = await ended
        if let patience = settings.exitTimeout { await child?.end(within: patience, on: loop) }
        return state.withLock { $0.questions.oneWays.losses }
    }

    /// Begins to close the connection in order, and cuts it after the time-out.
    func beginClosing(timeout: Duration) {
        beginClosing(because: .closedHere)
        let timer = loop.addTimer(after: timeout) { [self] in
            invalidate()
            if settings.exitTimeout != nil { child?.terminate() }
        }
        _ = add { [loop] _ in loop.cancelTimer(timer) }
    }

    /// Closes the connection in order once it has been idle for a time.
    ///
    /// It is idle while there is no call, no stream, no shared byte and no reference in either direction, apart from the peer's
    /// references to roots that are vended here. Pings do not count. A call that arrives when the connection is being closed is refused
    /// without being run: the other side's ``Helper`` sends it to the next process.
    ///
    /// Returns at once. In a helper that exits when it is idle:
    ///
    /// ```swift
    /// connection.closeWhenIdle(for: .seconds(60))
    /// _ = await connection.ended
    /// ```
    ///
    /// - Parameter time: How long it has to be idle, up to a quarter longer.
    public func closeWhenIdle(for time: Duration) { watch(IdleWatch(limit: time)) }

    private func watch(_ idleness: IdleWatch) {
        // The timer must not hold the connection, which would then never be dropped.
        _ = loop.addTimer(after: idleness.pause) { [channel] in
            guard let connection = channel.handler as? Connection, !connection.hasEnded else { return }
            var idleness = idleness
            guard idleness.isOver(connection.use, at: connection.now) else { return connection.watch(idleness) }
            connection.beginClosing(because: .closedHere)
        }
    }

    /// How far the connection is used.
    var use: IdleWatch.Use {
        let roots = vended
        return state.withLock { $0.use(besides: roots) }
    }

    /// Ends the connection at once.
    ///
    /// Waiting calls fail on both sides.
    public func invalidate() {
        state.withLock { $0.session.life.decide(.closedHere) }
        channel.cancel(.byThisSide)
    }

    /// Waits for the end of the connection, and returns the reason.
    ///
    /// Any number of tasks may wait. The wait goes on if the task is cancelled; `ended(timeout:)` does not.
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

    /// Waits for the end of the connection, but no longer than a time-out.
    ///
    /// - Parameter timeout: How long to wait.
    /// - Returns: The reason of the end; nil if the connection goes on after it, or when the task is cancelled.
    public func ended(timeout: Duration) async -> ConnectionEnd? {
        let first = FirstOutcome<ConnectionEnd?>()
        let timer = loop.addTimer(after: timeout) { first.set(nil) }
        let handler = add { first.set($0) }
        let end = await withTaskCancellationHandler {
            await first.value
        } onCancel: {
            first.set(nil)
        }
        loop.cancelTimer(timer)
        removeHandler(handler)
        return end
    }

    /// Has a handler called at the end, or soon if that has passed.
    ///
    /// - Returns: The number to remove it by.
    func add(_ handler: @escaping @Sendable (ConnectionEnd) -> Void) -> UInt64 {
        let (number, end) = life.withLock { life in
            life.registrations += 1
            if life.end == nil { life.endHandlers[life.registrations] = handler }
            return (life.registrations, life.end)
        }
        if let end { loop.perform { self.asCurrent { handler(end) } } }
        return number
    }

    /// Lets go of a handler.
    func removeHandler(_ number: UInt64) {
        // It is released without the lock, because that may run user code.
        let handler = life.withLock { $0.endHandlers.removeValue(forKey: number) }
        withExtendedLifetime(handler) {}
    }

    /// Whether `ended` has a value.
    var hasEnded: Bool { life.withLock { $0.end != nil } }

    /// Sets a hook that is called when the connection has ended.
    ///
    /// Call this before `begin()`.
    func whenEnded(_ hook: @escaping @Sendable () -> Void) { life.withLock { $0.endHook = hook } }

    /// Begins to close the connection in order, and takes all the time that the methods need which run.
    func beginClosing(because decision: ConnectionEnd?) {
        let wasOpen = transition { state, actions in state.beginClosing(because: decision, &actions) }
        guard wasOpen else { return channel.cancel(.byThisSide) }
        finishClosingIfIdle()
    }

    /// Writes the Goodbye of an orderly close, once all calls in both directions are answered.
    func finishClosingIfIdle() {
        if state.withLock({ $0.sayGoodbyeIfIdle() }) { channel.finishWriting() }
    }

    func peerSaidGoodbye() {
        let (reason, refusal) = state.withLock { state in
            (
                state.session.life.peerGoodbye?.reason,
                state.session.handshake.hasPeersHello ? nil : state.session.life.reasonOfPeer
            )
        }
        // No Hello follows. The end of the stream may not follow, either, if the peer is stuck.
        if let refusal { handshakeEnded(byEnd: refusal) }
        if reason == .closed {
            transition { state, actions in state.failUnanswered(self, name, &actions) }
            beginClosing(because: nil)
            limitTimeAfterGoodbye(unsent: .max)
        } else {
            channel.finishWriting()
            // The peer takes no more messages, so there is nothing to wait for.
            limitTimeAfterGoodbye(unsent: 0)
        }
    }

    /// Ends the connection if its peer has said goodbye but keeps the stream open.
    ///
    /// It waits while the peer reads, and while the peer may wait for answers of methods that run here.
    ///
    /// - Parameter unsent: The unsent bytes at the last check.
    private func limitTimeAfterGoodbye(unsent: Int) {
        let timer = loop.addTimer(after: settings.handshakeTimeout) { [self] in
            let isAwaited = unsent > 0 && state.withLock { !$0.session.outbox.isClosed }
            let left = channel.queuedBytes
            guard isAwaited || left < unsent && left > 0 else { return channel.cancel(.byThisSide) }
            limitTimeAfterGoodbye(unsent: isAwaited ? .max : left)
        }
        let isOver = life.withLock { life in
            life.goodbyeTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// Ends the connection after this side's Goodbye.
    ///
    /// Queued frames are still written.
    func endAfterGoodbye(_ decision: ConnectionEnd) {
        state.withLock { $0.session.life.decide(decision) }
        channel.setNeedsFlush()
        channel.finishWriting()
        // The Goodbye is written in the next loop iteration, if the peer reads. This side does not wait for it.
        loop.perform { self.channel.flushAndCancel(.byThisSide) }
    }

    // MARK: The end

    /// Whether the connection takes no more calls because it has ended or is ending.
    ///
    /// It is true before any call fails for that reason, so that a loop of calls can check it. `ended` gives the reason.
    public var isEnded: Bool { state.withLock { $0.session.isEnded } }

    /// The error of a message that was not sent because the connection takes none any more, with the reason that is known by now.
    func closedError(_ error: ConnectionError, for message: String) -> ConnectionError {
        let end = life.withLock { $0.end }
        return ConnectionError(
            error.code, end.map { "\($0); the call was not sent" } ?? error.message, context: "\(message) over \(name)",
            underlying: error.underlying, mayHaveRun: !error.isSafeToRetry)
    }

    /// Fails everything that waits for the peer, because no more input comes from it.
    ///
    /// The first thread that finds the end of the input does this, even one that waits for an answer. So an error arrives even
    /// if all threads of the loop run methods that block.
    @discardableResult
    func failCalls(_ reason: ChannelEnd, onLoop: Bool) -> ConnectionEnd {
        let ownReason = addingExitStatus(to: ConnectionEnd(reason))
        let failed = state.withContent { content in
            // Answers that have arrived still count.
            var actions = content.delivered.takeAll()
            let end = content.conversation.endCalls(self, name, &actions.others, because: ownReason)
            return FailedCalls(actions: actions, end: end)
        }
        let end = failed.end
        perform(failed.actions, onLoop: onLoop)
        return end
    }

    package func ended(_ reason: ChannelEnd) {
        let end = failCalls(reason, onLoop: true)
        channel.signalBlockingReaders()
        if !state.withLock({ $0.session.handshake.hasPeersHello }) { handshakeEnded(byEnd: end) }
        var work = tearDown()
        guard case .lost = end, let child else {
            work.append(.ended(end))
            return addUserWork(&work, onLoop: true)
        }
        addUserWork(&work, onLoop: true)
        child.whenKnown(within: Self.exitTimeout, on: loop) { end in
            var work = [Action<Connection>.ended(end)]
            self.addUserWork(&work, onLoop: false)
        }
    }

    /// Ends the handshake because the connection ends.
    func handshakeEnded(byEnd end: ConnectionEnd) {
        handshakeEnded(ConnectionError(end.handshakeCode, end.description, context: name))
    }

    /// How long to wait for the exit of a helper after its connection was lost.
    ///
    /// The system closes the descriptors of a process shortly before it reports the exit.
    private static let exitTimeout = Duration.seconds(1)

    /// Empties every table.
    ///
    /// - Returns: Actions that run user code: they cancel methods and release objects. They must run before those that wait for
    ///   the end are resumed.
    @inline(never)
    private func tearDown() -> [Action<Connection>] {
        let (work, resting) = state.withContent { content in
            var actions: [Action<Connection>] = []
            content.conversation.end(&actions)
            return (actions, content.rest.take())
        }
        resting?.dismiss()
        coder.detach()
        return work + [.endRoots]
    }

    /// Reports the end of the connection to the user.
    ///
    /// This is the last step.
    func reportEnd(_ end: ConnectionEnd) {
        if settings.onEvent != nil { LoopWatch.shared.remove(self) }
        report(.ended(end))
        let (waiting, handlers, timers) = life.withLock { life in
            life.end = end
            defer {
                life.waiting = []
                life.endHandlers = [:]
            }
            return (
                life.waiting, Array(life.endHandlers.values), [life.goodbyeTimer, life.keepaliveTimer, life.dropTimer]
            )
        }
        for case let timer? in timers { loop.cancelTimer(timer) }
        for handler in handlers { asCurrent { handler(end) } }
        for continuation in waiting { continuation.resume(returning: end) }
        life.withLock { $0.endHook.take() }?()
    }
}

/// The actions for calls that have failed, and the reason.
private struct FailedCalls: ~Copyable, Sendable {
    var actions: Actions<Connection>
    let end: ConnectionEnd
}

extension ConnectionEnd {
    /// The reason that the end of the channel gives by itself.
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

extension TransportError {
    static var byThisSide: TransportError { TransportError(.cancelled, "this side ended the connection") }
}
