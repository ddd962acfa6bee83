/// Whether to poll before a sleep, at one place where threads of a process wait.
///
/// Polling saves the wake-up of a thread on another processor, tens of microseconds, if what the thread waits for comes
/// soon, and otherwise takes a processor from others. So a place has *credit*, a number of polls:
///
///     no credit --(64 waits: one poll, as a probe)--> polls --(answered: 1 more, 16 at most)--> polls
///         ^                                             |
///         +----------(not answered: 8 less)-------------+
///
/// Each probe that fails doubles the waits until the next one, to 1,024 at most, so that probes in vain are too few to be
/// seen; one that is answered sets them back.
///
/// It is spent only where waits follow each other at once: a program that calls now and then sleeps at once. A place whose
/// thread is ready to run while it does not run polls where others need the processor. That shows in the thread's *run
/// delay*, and stops all polling at the place for 10 ms, and for twice that each time it is found again, up to a second.
///
/// There are no clocks and no files in here: what they say comes as a parameter. All times are in nanoseconds.
struct PollingPolicy {
    /// The longest poll.
    static let bound: UInt64 = 50_000
    /// Waits without credit for each probe.
    static let waitsForProbe: UInt16 = 64
    static let mostWaitsForProbe: UInt16 = 1_024
    /// What a poll costs that was not answered, and the most credit.
    static let cost: UInt8 = 8
    static let mostCredit: UInt8 = 16
    /// Waits of which one begins later than this after another do not follow each other at once.
    static let longestRound: UInt64 = 300_000
    /// The time polled between two looks at the run delay.
    static let timeBetweenReadings: UInt64 = 1_000_000
    /// One part of so many of the polled time may be run delay.
    static let toleratedPart: UInt64 = 20
    static let shortestPause: UInt64 = 10_000_000
    static let longestPause: UInt64 = 1_000_000_000

    private(set) var credit: UInt8 = 0
    private var waits: UInt16 = 0
    private var waitsForProbe = Self.waitsForProbe
    /// The last poll was answered at once, so that the next wait needs no clock.
    private(set) var isHot = false
    private var lastWait: UInt64 = 0
    private var stoppedUntil: UInt64 = 0
    private(set) var pause = shortestPause
    /// The time polled since the last reading of the run delay.
    private var polled: UInt64 = 0
    private var reading: (thread: UInt, runDelay: UInt64, time: UInt64) = (0, 0, 0)

    /// Whether to poll now.
    ///
    /// - Parameter now: The time; not asked for, and may be anything, if the place is hot.
    mutating func polls(at now: @autoclosure () -> UInt64) -> Bool {
        if isHot { return true }
        let now = now()
        let isSoon = now &- lastWait <= Self.longestRound
        lastWait = now
        guard isSoon, now >= stoppedUntil else { return false }
        if credit > 0 { return true }
        waits += 1
        guard waits >= waitsForProbe else { return false }
        waits = 0
        return true
    }

    /// Whether the next wait may poll; if not, it counts as one that does not.
    ///
    /// For a thread that prepares for a poll, and does nothing if there will be none.
    mutating func isPromising() -> Bool {
        if isHot || credit > 0 || waits + 1 >= waitsForProbe { return true }
        waits += 1
        return false
    }

    /// A poll has ended.
    ///
    /// - Parameters:
    ///   - isAnswered: Whether there was something before its time was over.
    ///   - time: How long it took.
    ///   - isQuick: Whether it took so little that no clock was looked at.
    /// - Returns: Whether the run delay has to be read now.
    mutating func polled(isAnswered: Bool, time: UInt64, isQuick: Bool) -> Bool {
        if isAnswered {
            if credit < Self.mostCredit { credit += 1 }
            waitsForProbe = Self.waitsForProbe
        } else {
            if credit == 0 { waitsForProbe = min(waitsForProbe * 2, Self.mostWaitsForProbe) }
            credit -= min(credit, Self.cost)
        }
        isHot = isAnswered && isQuick
        polled &+= time
        return polled >= Self.timeBetweenReadings
    }

    /// No poll makes sense now: another thread polls, the process has one processor, or the peer needs this one.
    mutating func isPrevented() { isHot = false }

    /// What the run delay of the thread is that has polled; nil if the system does not say.
    mutating func read(runDelay: UInt64?, thread: UInt, at now: UInt64) {
        defer { polled = 0 }
        guard let runDelay else { return }
        defer { reading = (thread, runDelay, now) }
        // Between few polls there are sleeps, and each wake-up has a delay of its own.
        guard thread == reading.thread, (now &- reading.time) / 4 <= polled else { return }
        guard (runDelay &- reading.runDelay) > polled / Self.toleratedPart else {
            pause = max(pause / 2, Self.shortestPause)
            return
        }
        stoppedUntil = now &+ pause
        pause = min(pause * 2, Self.longestPause)
        credit = 0
        waits = 0
        isHot = false
    }
}
