/// Decides whether threads poll before they sleep, for one place where they wait.
///
/// A poll finds input that comes soon without the wake-up of a thread on another processor, which takes tens of
/// microseconds. If nothing comes soon, the poll takes a processor from other threads. So a place has *credit*, a
/// number of polls:
///
///     no credit --(64 waits: one poll, as a probe)--> polls --(answered: 1 more, 16 at most)--> polls
///         ^                                             |
///         +----------(not answered: 8 less)-------------+
///
/// Each failed probe doubles the number of waits before the next one, up to 1,024, so that failed probes cost too
/// little to be noticed. An answered poll sets the number back to 64.
///
/// A place polls only while its waits follow each other within 300 µs: a program that calls now and then sleeps at
/// once. A polling thread that is ready to run but does not get a processor shows that other threads need the
/// processors. The system counts that time as the thread's *run delay*. When the run delay is more than a twentieth of
/// the time polled, the place does not poll for 10 ms. Each further time doubles this pause, up to a second; a reading
/// without such a delay halves it.
///
/// The policy reads no clock and no file: the caller passes what they say. All times are in nanoseconds.
struct PollingPolicy {
    /// The longest poll.
    static let bound: UInt64 = 50_000
    /// The number of waits without credit before a probe, at first and at most.
    static let waitsForProbe: UInt16 = 64
    static let mostWaitsForProbe: UInt16 = 1_024
    /// The credit that an unanswered poll costs, and the most credit that a place has.
    static let cost: UInt8 = 8
    static let mostCredit: UInt8 = 16
    /// The longest time from the begin of one wait to the begin of the next for which the second one may poll.
    static let longestRound: UInt64 = 300_000
    /// The time polled between two readings of the run delay.
    static let timeBetweenReadings: UInt64 = 1_000_000
    /// The time polled, divided by this, is the longest run delay that does not stop the polls.
    static let toleratedPart: UInt64 = 20
    static let shortestPause: UInt64 = 10_000_000
    static let longestPause: UInt64 = 1_000_000_000

    private(set) var credit: UInt8 = 0
    private var waits: UInt16 = 0
    private var waitsForProbe = Self.waitsForProbe
    /// The last poll was answered before the clock was read, so the next wait polls without reading it.
    private(set) var isHot = false
    private var lastWait: UInt64 = 0
    private var stoppedUntil: UInt64 = 0
    private(set) var pause = shortestPause
    /// The time polled since the last reading of the run delay.
    private var polled: UInt64 = 0
    private var reading: (thread: UInt, runDelay: UInt64, time: UInt64) = (0, 0, 0)

    /// Whether to poll now.
    ///
    /// - Parameter now: The time; not evaluated while the place is hot.
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

    /// Whether the next wait may poll; if not, this call counts as a wait.
    ///
    /// With it a thread need not prepare for a poll that will not take place.
    mutating func isPromising() -> Bool {
        if isHot || credit > 0 || waits + 1 >= waitsForProbe { return true }
        waits += 1
        return false
    }

    /// A poll has ended.
    ///
    /// - Parameters:
    ///   - isAnswered: Whether it found something.
    ///   - time: How long it took.
    ///   - isQuick: Whether it ended before the clock was read.
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

    /// What the last poll found was nothing to deliver: it counts as not answered after all.
    mutating func foundNothing() {
        credit -= min(credit, Self.cost + 1)
        isHot = false
    }

    /// No poll makes sense now: another thread polls, the process has one processor, or the peer needs this one.
    mutating func isPrevented() { isHot = false }

    /// Takes a reading of the run delay, and stops the polls for a while if it is too long.
    ///
    /// - Parameters:
    ///   - runDelay: The whole run delay of the thread that has polled, so far; nil if the system does not say.
    ///   - thread: The number of that thread.
    ///   - now: The time.
    mutating func read(runDelay: UInt64?, thread: UInt, at now: UInt64) {
        defer { polled = 0 }
        guard let runDelay else { return }
        defer { reading = (thread, runDelay, now) }
        // Each wake-up from a sleep adds to the run delay. So a reading counts only if at least a quarter of the time
        // since the last one was spent polling.
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
