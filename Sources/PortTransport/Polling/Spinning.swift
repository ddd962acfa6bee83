internal import CPortShims

/// One poll: a thread looks for input again and again for a limited time, instead of sleeping.
struct Spinning {
    /// The clock is read once in so many attempts.
    private static let attemptsBetweenLooks: UInt32 = 16
    /// The time between two yields, in nanoseconds.
    private static let timeBetweenYields: UInt64 = 2_500
    /// The assumed duration of one attempt, in nanoseconds, for a poll that ends before the clock is read.
    private static let estimate: UInt64 = 20

    private let bound: UInt64
    /// The mode is `.always`: no policy decides, and no permit is needed.
    private let isFixed: Bool
    private var attempts: UInt32 = 0
    private var start: UInt64 = 0
    private var yielded: UInt64 = 0
    /// The time when the clock was last read; 0 before the first reading.
    private(set) var now: UInt64 = 0

    /// Begins the poll before a sleep; nil if the thread should sleep at once.
    ///
    /// The caller has to call `end` or `giveUp` afterwards.
    /// - Parameters:
    ///   - code: The code of a `PollingMode`.
    ///   - wait: The longest time that the thread may sleep, in nanoseconds; negative for no limit.
    ///   - isInTheWay: Whether the poll would keep from running what the thread waits for, such as a peer that ran last on
    ///     the processor of this thread.
    init?(_ code: UInt64, _ policy: inout PollingPolicy, wait: Int64, isInTheWay: @autoclosure () -> Bool) {
        let longest = wait < 0 ? .max : UInt64(wait)
        if let fixed = PollingMode.nanoseconds(code) {
            guard fixed > 0 else { return nil }
            bound = min(fixed, longest)
            isFixed = true
            return
        }
        guard policy.polls(at: monotonicNow()) else { return nil }
        guard Processors.sufficed, !isInTheWay(), PollingPermit.take() else {
            Processors.ask(at: monotonicNow())
            policy.isPrevented()
            return nil
        }
        bound = min(PollingPolicy.bound, longest)
        isFixed = false
    }

    /// Whether to try again after an attempt that found nothing; false once the time of the poll is over.
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
        // In the mode `.always` more threads may poll than there are processors. Without a yield the thread that has
        // work to do would wait for a whole time slice. With a policy only one thread of the process polls, and a yield
        // would give its processor away for as long.
        if isFixed, now &- yielded >= Self.timeBetweenYields {
            yielded = now
            port_yield()
        }
        return now &- start < bound
    }

    /// Ends the poll without a result: it does not take place, or the thread may no longer touch the policy.
    func giveUp() {
        if !isFixed { PollingPermit.giveBack() }
    }

    /// Ends the poll and tells the policy its result.
    ///
    /// Call it without a lock: it may read files.
    func end(isAnswered: Bool, _ policy: inout PollingPolicy) {
        if isFixed { return }
        PollingPermit.giveBack()
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
