internal import CPortShims

/// One poll: a time during which a thread looks again and again instead of sleeping.
struct Spinning {
    /// Attempts for each look at the clock.
    private static let attemptsBetweenLooks: UInt32 = 16
    /// The time between two yields, in nanoseconds.
    private static let timeBetweenYields: UInt64 = 2_500
    /// What an attempt takes about, where no clock says it, in nanoseconds.
    private static let estimate: UInt64 = 20

    private let bound: UInt64
    /// Each time, and not by a policy.
    private let isFixed: Bool
    private var attempts: UInt32 = 0
    private var start: UInt64 = 0
    private var yielded: UInt64 = 0
    /// The last look at the clock; 0: there was none.
    private(set) var now: UInt64 = 0

    /// The poll with which a wait begins; nil if the thread is to sleep at once.
    ///
    /// `end` has to follow.
    /// - Parameters:
    ///   - code: The code of a `PollingMode`.
    ///   - wait: How long the thread may sleep at most, in nanoseconds; negative for no limit.
    ///   - peerIsHere: Whether what it waits for can run on this processor alone, as far as anybody knows.
    init?(_ code: UInt64, _ policy: inout PollingPolicy, wait: Int64, peerIsHere: @autoclosure () -> Bool) {
        let longest = wait < 0 ? .max : UInt64(wait)
        if let fixed = PollingMode.nanoseconds(code) {
            guard fixed > 0 else { return nil }
            bound = min(fixed, longest)
            isFixed = true
            return
        }
        guard policy.polls(at: monotonicNow()) else { return nil }
        guard Processors.sufficed, !peerIsHere(), PollingTurn.take() else {
            Processors.ask(at: monotonicNow())
            policy.isPrevented()
            return nil
        }
        bound = min(PollingPolicy.bound, longest)
        isFixed = false
    }

    /// To be asked after each attempt that found nothing.
    @inline(__always)
    mutating func goesOn() -> Bool {
        attempts &+= 1
        guard attempts % Self.attemptsBetweenLooks == 0 else {
            port_pause()
            return true
        }
        return look()
    }

    @inline(never)
    private mutating func look() -> Bool {
        now = monotonicNow()
        if start == 0 {
            start = now
            yielded = now
        }
        // Who always polls does so also where more threads poll than there are processors: the one with work to do would wait
        // for a whole time slice. By a policy nobody does, and to yield would give the processor away for as long.
        if isFixed, now &- yielded >= Self.timeBetweenYields {
            yielded = now
            port_yield()
        }
        return now &- start < bound
    }

    /// The poll does not take place, or its thread may not touch the policy any more.
    func giveUp() {
        if !isFixed { PollingTurn.giveBack() }
    }

    /// The poll is over; to be called without a lock.
    func end(isAnswered: Bool, _ policy: inout PollingPolicy) {
        if isFixed { return }
        PollingTurn.giveBack()
        let isQuick = start == 0
        let time = isQuick ? UInt64(attempts) * Self.estimate : now &- start
        guard policy.polled(isAnswered: isAnswered, time: time, isQuick: isQuick) else { return }
        var delay: UInt64 = 0
        let isKnown = port_run_delay(&delay)
        let now = monotonicNow()
        policy.read(runDelay: isKnown ? delay : nil, thread: UInt(port_thread_number()), at: now)
        Processors.ask(at: now)
        Processors.lookIfDue()
    }
}
