import PortTransport

/// Tracks whether the peer reads the answers to its calls.
///
/// Answers need no credit, so a peer that calls and does not read could fill this side's memory with them. Therefore calls
/// wait while too many bytes of answers are unsent. One-way messages have no answer and do not wait.
///
/// This does not bound the refusals of calls and the reports of one-way messages that failed. Refusals and reports are
/// small, but a peer can cause any number of them. So their bytes are counted, and above the limit the peer gets no
/// credit for further messages.
///
///     open, draining --(unsent bytes above the limit)--> held --(nothing read for the time allowed)--> refusing
///     held, refusing --(unsent bytes at most half the limit)--> draining --(nothing is unsent)--> open
///     refusing --(the peer reads again)--> held
struct AnswerFlow {
    enum Phase: Equatable {
        /// Calls start.
        case open
        /// Calls start again, and not all answers from the time when they were held are sent.
        ///
        /// Once all these answers are sent, their memory can be freed.
        case draining
        /// Calls wait. The peer has read nothing in the last `quietTicks` ticks.
        case held(quietTicks: UInt8)
        /// Calls are refused without being run, so that their callers do not wait in vain.
        case refusing
    }

    /// An answer up to this size is always sent: an error instead would be as large.
    static let smallAnswer = 1_024
    /// The number of ticks that the time allowed is divided into.
    static let ticks = 4

    /// The timer of the ticks.
    ///
    ///     stopped --(something waits for the peer to read)--> running --(a tick)--> stopped
    private enum Timer {
        case stopped
        case running
    }

    /// The state of the channel at the last check, while calls are held.
    private struct Check {
        /// The bytes that the channel had written.
        let written: UInt64
        /// The bytes that it had still to write.
        let unsent: Int
    }

    private(set) var phase = Phase.open
    /// An upper bound of the unsent bytes: those unsent when the channel was last asked, and all bytes added since.
    private var unsent = 0
    /// Bytes of refusals and of reports of failures added since few bytes were unsent.
    private var errors = 0
    private let limit: Int
    /// The last check; missing if the peer has given credit for large messages since then, which shows that it reads.
    private var last = Rare<Check>.missing
    private var timer = Timer.stopped

    init(limit: Int) {
        self.limit = limit
    }

    /// Above this number of unsent bytes no large answer is added.
    private var hardLimit: Int { 4 * limit }

    /// Counts bytes of an answer that the channel gets.
    ///
    /// The count may be a few bytes too high.
    @inline(__always)
    mutating func add(_ bytes: Int) {
        unsent &+= bytes
        if phase == .refusing { errors &+= bytes }
    }

    /// Counts bytes of a report that a one-way message has failed.
    mutating func add(reportOf bytes: Int) {
        unsent &+= bytes
        errors &+= bytes
    }

    /// Whether calls start and run.
    @inline(__always)
    var isOpen: Bool {
        switch phase {
        case .open, .draining: true
        case .held, .refusing: false
        }
    }

    /// Whether calls are started, either to run or to be refused.
    ///
    /// The channel is not asked.
    var mayStartCalls: Bool {
        if case .held = phase { false } else { true }
    }

    /// Whether calls have to wait.
    @inline(__always)
    mutating func isHolding(_ host: some AnswerMeter) -> Bool {
        if isOpen, unsent <= limit { return false }
        return checkUnsent(host)
    }

    /// Whether credit for calls is held back.
    ///
    /// The credit is given while calls are refused, because callers that wait for credit must get a refusal, too.
    mutating func holdsCallCredit(_ host: some AnswerMeter) -> Bool {
        guard unsent > limit else { return false }
        askUnsent(host)
        return unsent > limit && (phase != .refusing || errors > limit)
    }

    /// Whether credit for one-way messages is held back.
    mutating func holdsOneWayCredit(_ host: some AnswerMeter) -> Bool {
        guard errors > limit else { return false }
        askUnsent(host)
        return errors > limit
    }

    /// Whether so many bytes are unsent that even the answer of a call that has run is replaced by an error.
    mutating func isFull(_ host: some AnswerMeter) -> Bool {
        guard unsent > hardLimit else { return false }
        askUnsent(host)
        return unsent > hardLimit
    }

    private mutating func askUnsent(_ host: some AnswerMeter) {
        unsent = host.unsentAnswers
        if unsent <= limit / 2 { errors = 0 }
    }

    @inline(never)
    private mutating func checkUnsent(_ host: some AnswerMeter) -> Bool {
        askUnsent(host)
        if isOpen {
            guard unsent > limit else { return false }
            phase = .held(quietTicks: 0)
            remember(host)
        } else if unsent <= limit / 2 {
            phase = .draining
            return false
        }
        return phase != .refusing
    }

    /// The progress in sending the answers that piled up while calls were held.
    enum Draining {
        /// Calls are held again, or no answers have piled up.
        case notDraining
        case draining
        /// All these answers are sent. This case is returned once.
        case drained
    }

    /// Checks how far the answers are sent that piled up while calls were held.
    mutating func checkDraining(_ host: some AnswerMeter) -> Draining {
        guard phase == .draining else { return .notDraining }
        unsent = host.unsentAnswers
        guard unsent == 0 else { return .draining }
        phase = .open
        return .drained
    }

    /// Notes that the peer has given credit for large messages, so it has decoded a large message.
    mutating func creditCame() { last = .missing }

    private mutating func remember(_ host: some AnswerMeter) {
        last = .present(Check(written: host.writtenAnswers, unsent: unsent))
    }

    /// - Returns: Whether the caller has to start a timer, because none runs.
    mutating func startTicking() -> Bool {
        defer { timer = .running }
        return timer == .stopped
    }

    /// Counts one tick of the time for which calls may wait.
    ///
    /// - Returns: Whether the caller has to start a timer for the next tick.
    mutating func tick(_ host: some AnswerMeter) -> Bool {
        timer = .stopped
        updatePhase(host)
        return !isOpen && startTicking()
    }

    private mutating func updatePhase(_ host: some AnswerMeter) {
        _ = checkUnsent(host)
        switch phase {
        case .open, .draining: return
        case .held(let quietTicks):
            if host.writtenAnswers != last.value?.written {
                phase = .held(quietTicks: 0)
            } else if quietTicks < Self.ticks {
                // The first tick may come early: the timer of an earlier wait may still run.
                phase = .held(quietTicks: quietTicks + 1)
            } else {
                phase = .refusing
            }
            remember(host)
        case .refusing:
            // Refusals are answers, too, so the written bytes grow in any case. Only fewer unsent bytes show progress.
            guard unsent < last.value?.unsent ?? .max else { return }
            phase = .held(quietTicks: 0)
            remember(host)
        }
    }
}
