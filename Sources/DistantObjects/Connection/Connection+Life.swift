import PortTransport
import Synchronization

extension Connection {
    /// The waiters, hooks and timers for the handshake and the end of a connection.
    struct Life {
        /// State that is needed until both sides have accepted each other.
        final class Opening: @unchecked Sendable {  // Guarded by the lock of the life.
            let configuration: SharedConfiguration
            var waiter: UnsafeContinuation<Void, any Error>?
            var hook: (@Sendable (Bool) -> Void)?
            var timer: TimerToken?

            fileprivate init(_ configuration: SharedConfiguration) { self.configuration = configuration }
        }

        private enum Handshake {
            case running(Opening)
            case failed(any Error)
            case succeeded
        }

        /// State that most connections need only at their end.
        private final class Ending {
            var goodbyeTimer: TimerToken?
            var keepaliveTimer: TimerToken?
            var dropTimer: TimerToken?
            var end: ConnectionEnd?
            var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
            var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] = [:]
            var registrations: UInt64 = 0
            weak var twin: Connection?
            var peerStatus: ChildProcess.ExitStatus?
        }

        private var handshake: Handshake
        private var ending: Ending?
        /// The hook of the listener that has accepted the connection.
        var endHook: (@Sendable () -> Void)?

        init(opening configuration: SharedConfiguration) { handshake = .running(Opening(configuration)) }

        // MARK: The handshake

        /// Nil once the handshake has ended.
        var opening: Opening? { if case .running(let opening) = handshake { opening } else { nil } }

        var handshakeOutcome: Result<Void, any Error>? {
            switch handshake {
            case .running: nil
            case .failed(let error): .failure(error)
            case .succeeded: .success(())
            }
        }

        /// Ends the handshake.
        ///
        /// - Returns: The waiters for the handshake; nil if it has ended before.
        mutating func endHandshake(_ error: (any Error)?) -> Opening? {
            guard let opening else { return nil }
            handshake = error.map { .failed($0) } ?? .succeeded
            return opening
        }

        // MARK: The end

        private mutating func madeEnding() -> Ending {
            if let ending { return ending }
            let made = Ending()
            ending = made
            return made
        }

        /// Limits how long the peer may keep the stream open after its Goodbye.
        var goodbyeTimer: TimerToken? {
            get { ending?.goodbyeTimer }
            set { madeEnding().goodbyeTimer = newValue }
        }
        var keepaliveTimer: TimerToken? {
            get { ending?.keepaliveTimer }
            set { madeEnding().keepaliveTimer = newValue }
        }
        var dropTimer: TimerToken? {
            get { ending?.dropTimer }
            set { madeEnding().dropTimer = newValue }
        }
        var end: ConnectionEnd? {
            get { ending?.end }
            set { madeEnding().end = newValue }
        }
        /// The other end, for an end of which code of this process uses its own objects; see `Connection+Loopback`.
        var twin: Connection? {
            get { ending?.twin }
            set { madeEnding().twin = newValue }
        }
        /// The exit status of the process that the peer stands for, if it stands for one and that has died.
        var peerStatus: ChildProcess.ExitStatus? {
            get { ending?.peerStatus }
            set { madeEnding().peerStatus = newValue }
        }
        var waiting: [CheckedContinuation<ConnectionEnd, Never>] {
            get { ending?.waiting ?? [] }
            _modify { yield &madeEnding().waiting }
        }
        /// The handlers that users have registered for the end, by registration.
        var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] {
            get { ending?.endHandlers ?? [:] }
            _modify { yield &madeEnding().endHandlers }
        }
        /// The number of registrations so far.
        var registrations: UInt64 {
            get { ending?.registrations ?? 0 }
            _modify { yield &madeEnding().registrations }
        }
    }
}

// Keepalive, for links that can break without notice.
extension Connection {
    /// The number of silent intervals in a row after which the connection ends.
    private static let maximumSilences = 3

    /// Starts the checks, after the handshake.
    ///
    /// They run once in each interval until the connection has ended.
    func keepAlive(every interval: Duration?) {
        guard let interval, interval > .zero else { return }
        scheduleSilenceCheck(interval, seen: channel.framesReceived, silences: 0)
    }

    /// Schedules the next check.
    ///
    /// The peer gets a ping after the first silent interval. So a process that was suspended waits for an answer before it
    /// ends the connection.
    private func scheduleSilenceCheck(_ interval: Duration, seen: UInt64, silences: Int) {
        // The timer must not hold the connection, which would then never be dropped.
        let timer = loop.addTimer(after: interval) { [channel] in
            (channel.handler as? Connection)?.checkSilence(interval, seen: seen, silences: silences)
        }
        let isOver = life.withLock { life in
            life.keepaliveTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    private func checkSilence(_ interval: Duration, seen: UInt64, silences: Int) {
        let received = channel.framesReceived
        guard received == seen else { return scheduleSilenceCheck(interval, seen: received, silences: 0) }
        guard silences + 1 < Self.maximumSilences else {
            return endSilently(because: "the peer has sent nothing for \(interval * Self.maximumSilences)")
        }
        state.withLock { state in
            guard state.session.life.verdict == nil, !state.session.outbox.isClosed else { return }
            state.session.pings.send(.ping, PingWait(), to: &state.session.outbox)
        }
        channel.setNeedsFlush()
        scheduleSilenceCheck(interval, seen: received, silences: silences + 1)
    }

    /// Ends the connection at once, without a goodbye, because the peer is silent.
    func endSilently(because reason: String) {
        let silence = ConnectionError(.deadlineExceeded, reason, context: name)
        state.withLock { $0.session.life.decide(.failed(silence)) }
        channel.cancel(.byThisSide)
    }
}

// A connection stays open when its user forgets to close it. The event `dropped` reports a connection that no code can close
// any more.
extension Connection {
    /// The time from the handshake to the first check.
    private static let firstCheck = Duration.seconds(1)
    /// The longest time between two checks.
    ///
    /// Each is twice as long as the one before, up to this.
    private static let longestPause = Duration.seconds(64)

    /// Checks from time to time whether the connection was dropped, if there is an event handler.
    ///
    /// A connection with roots is never dropped, because the peer can use them.
    func checkWhetherDropped(after pause: Duration = firstCheck) {
        guard settings.onEvent != nil else { return }
        // The channel exists while the connection is open, and is the only holder of a dropped connection.
        let timer = loop.addTimer(after: pause) { [channel] in
            guard let connection = Self.dropped(channel) else {
                guard let connection = channel.handler as? Connection, !connection.vendsRoots else { return }
                return connection.checkWhetherDropped(after: min(pause * 2, Self.longestPause))
            }
            connection.reportOnLoop(.dropped)
        }
        let isOver = life.withLock { life in
            life.dropTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// The channel's connection, if only the channel refers to it.
    ///
    /// Calls of this side and their tasks, running methods and proxies hold their connection.
    private static func dropped(_ channel: Channel) -> Connection? {
        // A resting task holds the connection, too.
        (channel.handler as? Connection)?.dismissResting()
        guard channel.holdsHandlerAlone, let connection = channel.handler as? Connection else { return nil }
        let isReachable = connection.state.withLock {
            $0.phase != .open || $0.session.references.exportCount > 0 || $0.session.streams.outgoingCount > 0
        }
        return isReachable || connection.vendsRoots ? nil : connection
    }

    private func dismissResting() {
        state.withContent { $0.rest.take() }?.dismiss()
    }
}

// The processes that are probably the peer: the one that this process has launched, and the one that has launched it. Over a
// socket the kernel says which process has sent the first bytes, and the channel ends with it. Where that is not known, as over
// pipes, the end of such a process proves nothing, because it may have passed the connection on.
extension Connection {
    /// Watches the process that was launched.
    ///
    /// Call this after the handshake.
    func watchChild() {
        child?.whenExited { [channel] status in
            (channel.handler as? Connection)?.childExited(status)
        }
    }

    private func childExited(_ status: ChildProcess.ExitStatus) {
        // Then the channel is about to end by itself.
        if channel.watchesPeer, channel.peer?.pid == child?.pid { return }
        askPeer(orEndAs: .lost(status)) { self.reportOnLoop(.childExited(status)) }
    }

    package func peerMayBeGone() { askPeer(orEndAs: .lost(nil)) {} }

    /// Sends a ping, and ends the connection if no answer comes in time.
    private func askPeer(orEndAs end: ConnectionEnd, onAnswer: @escaping @Sendable () -> Void) {
        let timer = loop.addTimer(after: settings.handshakeTimeout) { [self] in
            // A process that is known to speak may be slow.
            guard !channel.watchesPeer else { return }
            state.withLock { $0.session.life.decide(end) }
            channel.cancel(.byThisSide)
        }
        Task {
            let isAnswered: Void? = try? await ping()
            loop.cancelTimer(timer)
            if isAnswered != nil { onAnswer() }
        }
    }
}

extension Connection {
    /// Checks that the peer answers.
    ///
    /// The peer's reading thread answers, so this works while its methods are busy.
    ///
    /// - Throws: `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func ping() async throws {
        try await control(.ping)
    }

    /// Waits until every message sent before has returned, thrown or suspended for the first time in the peer.
    ///
    /// - Throws: `ConnectionError.oneWayLost`, once, if one-way messages sent before did not run, with their number;
    ///   `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func barrier() async throws {
        try await control(.barrier)
        if let loss = state.withLock({ $0.questions.oneWays.takeLosses() }) { throw loss }
    }

    private func control(_ kind: FrameKind) async throws {
        let wait = PingWait()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let failure = state.withLock { state -> (any Error)? in
                    guard state.phase == .open || state.phase == .closing, !state.session.outbox.isClosed else {
                        return ConnectionError(
                            .closed,
                            state.session.life.verdict != nil
                                ? "the connection has ended" : "the connection is closing",
                            context: name)
                    }
                    if wait.isCancelled { return CancellationError() }
                    wait.continuation = continuation
                    state.session.pings.send(kind, wait, to: &state.session.outbox)
                    return nil
                }
                if let failure { return continuation.resume(throwing: failure) }
                channel.setNeedsFlush()
            }
        } onCancel: {
            // A frame that was sent is still answered, without a waiter. One that was not is removed from the queue.
            let continuation = state.withLock { state in
                wait.isCancelled = true
                state.session.pings.withdraw(wait)
                return wait.continuation.take()
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}

extension Connection {
    /// How long the thread that finds the end of a helper's output waits for the helper's exit status.
    ///
    /// Usually the status is there at once. A helper that goes on without its connection makes errors this much later.
    private static let statusTime = Duration.milliseconds(100)

    /// Adds the exit status to the end of a connection whose helper dies at this moment.
    ///
    /// So the errors of its calls say what has happened to it. Nobody waits if the end has another reason, if no call and no
    /// stream is under way, or if a process that is not the helper has spoken over the connection.
    func addingExitStatus(to end: ConnectionEnd) -> ConnectionEnd {
        guard case .lost(nil) = end else { return end }
        if let status = life.withLock({ $0.peerStatus }) { return .lost(status) }
        guard let child, child.pid == peer?.pid ?? child.pid else { return end }
        let hasReason = state.withLock { state in
            state.session.life.verdict != nil || state.session.life.violation != nil
                || state.session.life.peerSaidGoodbye || state.questions.count == 0 && state.session.streams.isEmpty
        }
        return hasReason ? end : child.knownEnd(awaitedFor: Self.statusTime)
    }
}

// Look-ups that say what they wait for.
extension Connection {
    private func watchLookup(of name: String) -> LookupWatch {
        LookupWatch(on: loop, after: settings.lookupPatience) {
            try await self.peerRoots.message("hasVended")(timeout: self.settings.lookupTimeout)
        } report: {
            self.report(.lookupWaits(name))
        }
    }

    /// What the caller is told of a look-up that the end of the connection has ended.
    private func lookUpFailed(_ error: any Error) -> any Error {
        guard let known = error as? ConnectionError, [.outcomeUnknown, .notSent, .closed].contains(known.code),
            case .lost(let status)? = life.withLock({ $0.end }) ?? state.withLock({ $0.session.life.verdict })
        else { return error }
        return ConnectionError(
            known.code,
            "\(ConnectionEnd.lost(status)) before it has answered the look-up; its standard error may say why",
            context: known.context, underlying: error, mayHaveRun: !known.isSafeToRetry)
    }

    /// Looks up a root, or the names of all of them.
    ///
    /// - Parameter name: The name of the root.
    func lookUp<Result>(_ name: String = "", _ body: () async throws -> Result) async throws -> Result {
        let watch = watchLookup(of: name)
        do {
            let result = try await body()
            watch.end()
            return result
        } catch {
            throw lookUpFailed(watch.end(error))
        }
    }

    /// As the other function, on a plain thread.
    func blockingLookUp<Result>(_ name: String = "", _ body: () throws -> Result) throws -> Result {
        let watch = watchLookup(of: name)
        do {
            let result = try body()
            watch.end()
            return result
        } catch {
            throw lookUpFailed(watch.end(error))
        }
    }
}
