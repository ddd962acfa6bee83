import PortTransport

/// The life of a helper that is started again when it has ended, as pure transitions.
///
///     idle ──call──▶ starting ──connected──▶ running
///      ▲                │                      │
///      │                └──────── ended ◀──────┘
///      │ in order          │ failed        │ too often, or for a reason that stays
///      └───────────────────┤               ▼
///                       waiting         gaveUp ──start()──▶ starting
///                          │
///                          └──pause over, start()──▶ starting
///
/// `restart()` leads from `starting` and `running` to `restarting`, and with the end of that process to `waiting` without a pause; from
/// the others to `starting`. `stopped` can follow each of them, and is final.
struct Supervision: Sendable {
    enum Phase: Sendable, Equatable {
        /// No process runs; the next call starts one.
        case idle
        case starting
        /// A process runs since that instant.
        case running(since: UInt64)
        /// The user replaces a process: it is being ended, and the next one starts then.
        case restarting
        /// A process has ended, and the next one starts after the pause.
        case waiting
        /// No process is started any more, for that reason, since that instant.
        case gaveUp(String, at: UInt64)
        case stopped
    }

    /// How a process has ended.
    enum End: Sendable {
        /// In order.
        case orderly
        /// Otherwise, with a reason for the user.
        case failed(String)
        /// It could not be started, because the system lacks something for now.
        case shortage(String)
        /// The peer broke the protocol.
        case violation(String)
        /// For a reason that another process of the same program would have, too.
        case hopeless(String)
    }

    /// What follows an end.
    enum Next: Equatable {
        case nothing
        case restart(after: Duration)
        case giveUp(String)
    }

    /// After this time a process counts as one that runs well.
    static let longLife = Duration.seconds(60)
    /// The shortest pause before another attempt when the system lacks something, whatever the policy says.
    static let shortestPostponement = Duration.milliseconds(100)

    let policy: RestartPolicy
    private(set) var phase = Phase.idle
    /// The instants of the ends that count, each as often as it does.
    private var ends: [UInt64] = []
    /// The restarts since a process has last run for long.
    private var restarts = 0
    private var lastViolation: String?
    /// The shortages that follow each other, and the instant of the first.
    private var shortages: (count: Int, since: UInt64)?

    init(_ policy: RestartPolicy) { self.policy = policy }

    /// A call needs the helper.
    ///
    /// - Returns: Whether a process has to be started.
    mutating func needed() -> Bool {
        guard phase == .idle else { return false }
        phase = .starting
        return true
    }

    /// The user starts the helper, also after it was given up, or before a pause is over.
    ///
    /// - Returns: Whether a process has to be started.
    mutating func start() -> Bool {
        switch phase {
        case .gaveUp: forget()
        case .waiting: phase = .idle
        case .idle, .starting, .running, .restarting, .stopped: break
        }
        return needed()
    }

    /// What a restart by the user begins with.
    enum Restart: Equatable {
        case nothing
        /// A process has to be started.
        case start
        /// The process that is being started, runs, or is being ended has to end.
        case end
    }

    /// The user replaces the process of now, or starts one if there is none.
    ///
    /// Ends before it do not count any more.
    mutating func restart() -> Restart {
        switch phase {
        case .stopped: return .nothing
        case .idle, .waiting, .gaveUp:
            forget()
            phase = .starting
            return .start
        case .starting, .running, .restarting:
            phase = .restarting
            return .end
        }
    }

    /// Whether the user has the process ended.
    var isEndWanted: Bool { phase == .stopped || phase == .restarting }

    private mutating func forget() {
        phase = .idle
        ends = []
        restarts = 0
        lastViolation = nil
        shortages = nil
    }

    /// The pause before a restart is over.
    ///
    /// - Returns: Whether a process has to be started.
    mutating func pauseEnded() -> Bool {
        guard phase == .waiting else { return false }
        phase = .starting
        return true
    }

    /// A process is connected.
    ///
    /// - Returns: Whether it is still wanted.
    mutating func started(at now: UInt64) -> Bool {
        guard phase == .starting else { return false }
        phase = .running(since: now)
        return true
    }

    /// The process has ended, or could not be started.
    mutating func ended(_ end: End, at now: UInt64) -> Next {
        var weight = 2
        switch phase {
        case .starting: break
        case .running(let since):
            weight = 1
            if now >= since, now - since >= Self.longLife.nanoseconds {
                ends = []
                restarts = 0
                lastViolation = nil
            }
        case .restarting:
            forget()
            phase = .waiting
            return .restart(after: .zero)
        case .idle, .waiting, .gaveUp, .stopped: return .nothing
        }
        if case .shortage(let reason) = end, policy.kind != .never { return postpone(reason, now) }
        shortages = nil
        switch end {
        case .hopeless(let reason): return giveUp(reason, now)
        case .violation(let text) where lastViolation == text:
            return giveUp("it broke the protocol twice in the same way: \(text)", now)
        case .violation(let text): lastViolation = text
        case .orderly where policy.kind == .onFailure:
            phase = .idle
            return .nothing
        case .orderly, .failed, .shortage: break
        }
        guard policy.kind != .never else { return giveUp("\(end.text), and is started only once", now) }
        let start = now - min(now, policy.period.nanoseconds)
        ends.removeAll { $0 < start }
        ends.append(contentsOf: repeatElement(now, count: weight))
        guard ends.count <= policy.limit else {
            return giveUp("it has ended too often within \(policy.period), the last time because \(end.text)", now)
        }
        phase = .waiting
        defer { restarts += 1 }
        return .restart(after: policy.pause(after: restarts))
    }

    /// Tries again later: a shortage is no fault of the program, and does not count as its end.
    private mutating func postpone(_ reason: String, _ now: UInt64) -> Next {
        let (count, since) = shortages ?? (0, now)
        shortages = (count + 1, since)
        guard now - since < policy.period.nanoseconds else {
            return giveUp("it could not be started for \(policy.period): \(reason)", now)
        }
        phase = .waiting
        return .restart(after: max(policy.pause(after: count + 1), Self.shortestPostponement))
    }

    private mutating func giveUp(_ reason: String, _ now: UInt64) -> Next {
        phase = .gaveUp(reason, at: now)
        return .giveUp(reason)
    }

    /// The user stops the helper.
    ///
    /// - Returns: Whether it was not stopped before.
    mutating func stop() -> Bool {
        guard phase != .stopped else { return false }
        phase = .stopped
        return true
    }
}

extension Supervision.End {
    /// The reason, for the user.
    var text: String {
        switch self {
        case .orderly: "it has ended in order"
        case .failed(let reason), .shortage(let reason), .hopeless(let reason): reason
        case .violation(let text): "it broke the protocol: \(text)"
        }
    }
}
