import PortTransport
import Synchronization

/// Keeps one helper running, and gives messages its root object.
final class Supervisor: PlaceSource {
    /// One process of the helper, while it is connected.
    struct Instance: Sendable {
        let number: Int
        let connection: Connection
        let root: DistantObject
        let output: HelperOutput
    }

    private struct State {
        var supervision: Supervision
        /// The number of the last process.
        var number = 0
        var instance: Instance?
        /// Whether a process is being started, runs, or is being ended.
        var isLive = false
        /// Starts a process.
        var starting: Task<Void, Never>?
        /// Those that wait until the process has ended.
        var ending: [CheckedContinuation<Void, Never>] = []
        var pause: TimerToken?
        var health = Health.well
    }

    /// What pings say about the process of now.
    private enum Health {
        case well
        case suspended(CInt)
        case silent
    }

    let name: String
    let loop: any PortLoop
    let options: HelperOptions
    let events = HelperEvents()
    private let launch: HelperLaunch
    private let queue: PlaceQueue
    private let state: Mutex<State>
    /// The messages under way.
    let used = MessageCount()
    /// Told when there is an object, or when there will be none.
    private let observer = Mutex<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - name: What it is called in errors.
    ///   - policy: When it is started again.
    ///   - launch: Starts a process, or what stands for one.
    init(
        _ name: String, _ policy: RestartPolicy, _ options: HelperOptions, _ launch: HelperLaunch, on loop: any PortLoop
    ) {
        self.name = name
        self.options = options
        self.launch = launch
        self.loop = loop
        queue = PlaceQueue(name, on: loop)
        state = Mutex(State(supervision: Supervision(policy)))
    }

    deinit {
        let (instance, pause, starting) = state.withLock { ($0.instance, $0.pause, $0.starting) }
        if let pause { loop.cancelTimer(pause) }
        starting?.cancel()
        events.end()
        if let instance { Task.detached(executorPreference: loop) { await Self.end(instance) } }
    }

    // MARK: Messages

    var callTimeout: Duration? { options.configuration.callTimeout }

    var current: MessagePlace? { connected?.root.place }

    /// The process of now, if it is connected.
    var connected: Instance? {
        guard let instance = state.withLock({ $0.instance }), !instance.connection.isEnded else { return nil }
        return instance
    }

    func take(within limit: Duration?) async throws -> TakenPlace {
        if let place = try ready() { return taken(at: place) }
        return taken(at: try await queue.wait(within: limit) { check() })
    }

    func takeBlocking(within limit: Duration?) throws -> TakenPlace {
        try taken(at: ready() ?? queue.waitBlocking(within: limit) { self.check() })
    }

    func takeNow() throws -> TakenPlace? { try ready().map { taken(at: $0) } }

    private func taken(at place: MessagePlace) -> TakenPlace {
        used.add()
        return TakenPlace(place: place, count: used)
    }

    /// The root of the process of now, or of the next one.
    func root(within limit: Duration?) async throws -> DistantObject {
        let end = limit.map { Deadline(after: $0, at: loop.now) }
        while true {
            let left = end.map { Duration.microseconds(Int64(clamping: $0.microseconds(at: loop.now))) }
            let taken = try await take(within: left)
            defer { taken.giveBack() }
            // Else the process has ended meanwhile.
            if let root = connected?.root, root.place === taken.place { return root }
        }
    }

    /// The object of now; nil while a process is being started, which this begins if none was.
    ///
    /// - Throws: Why none will be started.
    func ready() throws -> MessagePlace? {
        if let instance = connected { return instance.root.place }
        let phase = state.withLock { state in
            if state.supervision.needed() { start(&state) }
            return state.supervision.phase
        }
        switch phase {
        case .idle, .starting, .running, .restarting, .waiting: return nil
        case .stopped: throw ConnectionError(.closed, "the helper was stopped", context: name)
        case .gaveUp(let reason, let instant):
            let now = loop.now
            let seconds = Duration.nanoseconds(Int64(clamping: now > instant ? now - instant : 0)).components.seconds
            throw ConnectionError(.closed, "the helper was given up \(seconds) s ago: \(reason)", context: name)
        }
    }

    /// Resumes the messages that wait, if there is an object or will be none.
    private func check() {
        observer.withLock { $0 }?()
        guard !queue.isEmpty else { return }
        do {
            if let place = try ready() { queue.resume(with: .success(place)) }
        } catch {
            queue.resume(with: .failure(error))
        }
    }

    /// Has a function called, on any thread, when there is an object or when there will be none.
    func observe(_ observer: @escaping @Sendable () -> Void) { self.observer.withLock { $0 = observer } }

    // MARK: Starting

    /// Starts the helper now, also if it was given up.
    func startAgain() {
        let pause = state.withLock { state -> TimerToken? in
            guard state.supervision.start() else { return nil }
            start(&state)
            return state.pause
        }
        if let pause { loop.cancelTimer(pause) }
    }

    /// Starts a process.
    private func start(_ state: inout State) {
        state.number += 1
        state.isLive = true
        let number = state.number
        // The task does not hold this object, which cancels it when it is freed.
        state.starting = Task(executorPreference: loop) { [weak self, launch, name, options] in
            do {
                let instance = try await launch.start(number, name, options)
                if let self { await self.started(instance) } else { await Self.end(instance) }
            } catch {
                self?.failedToStart(error)
            }
        }
    }

    private func started(_ instance: Instance) async {
        let isWanted = state.withLock { state in
            guard state.supervision.started(at: loop.now) else { return false }
            state.instance = instance
            state.health = .well
            return true
        }
        guard isWanted else {
            let remains = await Self.end(instance)
            return ended(.orderly, true, remains)
        }
        events.report(.started(pid: instance.connection.child?.pid))
        _ = instance.connection.add { [weak self] end in self?.connectionEnded(instance, end) }
        check()
        watch(instance)
    }

    private func failedToStart(_ error: any Error) {
        let failed = error as? FailedStart
        let isWanted = state.withLock { $0.supervision.isEndWanted }
        ended(Supervision.End(startingFailed: error), isWanted, failed?.remains ?? HelperRemains())
    }

    // MARK: The end of a process

    private func connectionEnded(_ instance: Instance, _ end: ConnectionEnd) {
        let (wasSilent, isWanted) = state.withLock { state in
            state.instance = nil
            let wasSilent = if case .silent = state.health { true } else { false }
            return (wasSilent, state.supervision.isEndWanted && end.isOrderly)
        }
        Task(executorPreference: loop) { [self] in
            let remains = await Self.end(instance, isExpected: end.isOrderly)
            let silence = wasSilent ? options.unresponsiveAfter : nil
            ended(Supervision.End(end, remains.status, silence: silence), isWanted, remains)
        }
    }

    /// Notes the end of a process, or that it could not be started, and starts the next one.
    ///
    /// - Parameter isWanted: Whether it has ended because the helper was stopped or restarted. One that has died just before that has not.
    private func ended(_ end: Supervision.End, _ isWanted: Bool, _ remains: HelperRemains) {
        let isOrderly = if case .orderly = end { true } else { isWanted }
        events.report(.ended(HelperEnd(remains, reason: end.text, isOrderly: isOrderly)))
        let (next, waiters) = state.withLock { state in
            state.isLive = false
            state.starting = nil
            defer { state.ending = [] }
            return (state.supervision.ended(end, at: loop.now), state.ending)
        }
        for waiter in waiters { waiter.resume() }
        switch next {
        case .nothing: break
        case .giveUp(let reason): events.report(.gaveUp(reason))
        case .restart(let pause):
            if pause > .zero { events.report(.waiting(pause)) }
            let timer = loop.addTimer(after: pause) { [weak self] in self?.pauseEnded() }
            state.withLock { $0.pause = timer }
        }
        check()
    }

    private func pauseEnded() {
        state.withLock { state in
            if state.supervision.pauseEnded() { start(&state) }
        }
    }

    /// How long a process may go on whose connection has ended otherwise than in order.
    private static let patience = Duration.milliseconds(500)

    /// Closes the connection of a process, and ends the process with what it has started.
    ///
    /// - Parameter isExpected: Whether the process has been told to end, and has the time of its options for it.
    @discardableResult
    private static func end(_ instance: Instance, isExpected: Bool = true) async -> HelperRemains {
        let connection = instance.connection
        if !isExpected { await connection.child?.end(within: patience, on: connection.loop) }
        await connection.close()
        return await HelperRemains(of: connection, instance.output)
    }

    // MARK: Restarting and stopping

    /// Ends the process of now in order, and starts the next one.
    ///
    /// Returns when the first has ended.
    func restart(timeout: Duration) async {
        await endProcess(timeout: timeout) { state in
            switch state.supervision.restart() {
            case .nothing: return false
            case .start:
                start(&state)
                return false
            case .end: return true
            }
        }
    }

    /// Stops the helper for good.
    func stop(timeout: Duration) async {
        await endProcess(timeout: timeout) { state in
            _ = state.supervision.stop()
            return state.isLive
        }
        events.end()
    }

    /// Ends the process of now, or its start, and waits until it has ended.
    ///
    /// - Parameter decide: Changes the state. Returns whether there is such a process: another one may follow it soon.
    private func endProcess(timeout: Duration, _ decide: (inout State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let (pause, isEnding, instance, starting) = state.withLock { state in
                let pause = state.pause
                let isEnding = decide(&state)
                if isEnding { state.ending.append(continuation) }
                return (pause, isEnding, state.instance, state.starting)
            }
            if let pause { loop.cancelTimer(pause) }
            check()
            guard isEnding else { return continuation.resume() }
            if let instance { instance.connection.beginClosing(timeout: timeout) } else { starting?.cancel() }
        }
    }
}

// Pings, which tell a helper that hangs from one that is slow.
extension Supervisor {
    /// A ping takes some time.
    private static let shortestSilence = Duration.milliseconds(100)

    private func watch(_ instance: Instance) {
        guard let limit = options.unresponsiveAfter.map({ max($0, Self.shortestSilence) }) else { return }
        _ = loop.addTimer(after: limit / 2) { [weak self] in
            guard let self, self.connected?.number == instance.number else { return }
            Task(executorPreference: self.loop) { [weak self, loop = self.loop] in
                let isAnswered = await Self.answersPing(instance.connection, within: limit, on: loop)
                self?.pinged(instance, isAnswered, limit)
            }
        }
    }

    private func pinged(_ instance: Instance, _ isAnswered: Bool, _ limit: Duration) {
        guard connected?.number == instance.number else { return }
        let stop = isAnswered ? nil : instance.connection.child?.terminalStop
        let news = state.withLock { state -> HelperEvent? in
            switch (isAnswered, stop, state.health) {
            case (true, _, _):
                state.health = .well
                return nil
            case (false, let signal?, .suspended(let known)) where known == signal: return nil
            case (false, let signal?, _):
                state.health = .suspended(signal)
                return .suspended(signal: signal)
            case (false, nil, .silent): return nil
            case (false, nil, _):
                state.health = .silent
                return .unresponsive(for: limit)
            }
        }
        if let news { events.report(news) }
        guard case .unresponsive? = news, options.whenUnresponsive != .report else { return watch(instance) }
        options.whenUnresponsive.act(on: instance.connection, after: limit, loop)
    }

    /// Whether the peer answers a ping in time.
    private static func answersPing(
        _ connection: Connection, within limit: Duration, on loop: any PortLoop
    ) async -> Bool {
        let ping = Task(executorPreference: loop) { try await connection.ping() }
        cancel(ping, after: limit, on: loop, attempts: 3)
        if case .success = await ping.result { return true }
        return false
    }

    /// Cancels a ping after a time in which this process was not held up itself, up to a number of attempts.
    ///
    /// The answer may have come while this process did not run, so the loop gets time to read it.
    private static func cancel(
        _ ping: Task<Void, any Error>, after limit: Duration, on loop: any PortLoop, attempts: Int
    ) {
        let start = loop.now
        _ = loop.addTimer(after: limit) {
            let isLate = Duration.nanoseconds(Int64(clamping: loop.now - start)) > limit + limit / 4
            if isLate, attempts > 1 { return cancel(ping, after: limit, on: loop, attempts: attempts - 1) }
            _ = loop.addTimer(after: limit / 4) { ping.cancel() }
        }
    }
}
