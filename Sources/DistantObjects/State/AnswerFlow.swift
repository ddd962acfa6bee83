/// Whether the peer takes the answers it asked for.
///
/// Answers need no credit, so a peer that asks and does not read could fill this side's memory with them. Therefore calls
/// that want an answer wait while too many bytes of answers are unsent. One-way messages do not: they add nothing.
///
///     open --(unsent above the bound)--> held --(nothing taken for the time allowed)--> refusing
///     held, refusing --(unsent at most half the bound)--> open
///     refusing --(something is taken again)--> held
struct AnswerFlow {
    enum Phase: Equatable {
        /// Calls start.
        case open
        /// Calls that want an answer wait; in the last ticks, so many, nothing was taken.
        case held(quietTicks: Int)
        /// Calls that want an answer are refused without being run, so that their callers do not wait for nothing.
        case refusing
    }

    /// An answer up to this size is sent whatever else is unsent: to say that it is not would take as much.
    static let smallAnswer = 1_024
    /// The patience is measured in so many ticks.
    static let ticks = 4

    private(set) var phase = Phase.open
    /// No fewer bytes of answers than are unsent: what was unsent when the channel was asked last, and all since.
    private var unsent = 0
    /// What the channel had written, or still to write, when it was looked at last.
    private var written: UInt64 = 0
    private var unsentBefore = 0
    /// The peer has given bulk credit since.
    private var gotCredit = false
    /// Calls were held, and not all answers from then are sent: the memory they take is to be given back.
    private(set) var isEbbing = false
    /// A timer runs that will call `tick`.
    private var isTicking = false
    private let bound: Int

    init(bound: Int) {
        self.bound = bound
    }

    /// No answer is added to more than this.
    private var hardBound: Int { 4 * bound }

    /// So many bytes of answers were handed to the channel, or a few less.
    mutating func add(_ bytes: Int) { unsent &+= bytes }

    /// Whether calls that want an answer are started, to run or to be refused, as far as is known.
    var mayStartCalls: Bool {
        if case .held = phase { false } else { true }
    }

    /// Whether calls that want an answer have to wait.
    @inline(__always)
    mutating func isHolding(_ host: some PortHost) -> Bool {
        if phase == .open, unsent <= bound { return false }
        return look(host)
    }

    /// Whether the peer has read little enough of its answers for credit to be kept back.
    mutating func isAbove(_ host: some PortHost) -> Bool {
        guard unsent > bound else { return false }
        unsent = host.unsentAnswers
        return unsent > bound
    }

    /// Whether even the answer to a call that has run is too much now.
    mutating func isFull(_ host: some PortHost) -> Bool {
        guard unsent > hardBound else { return false }
        unsent = host.unsentAnswers
        return unsent > hardBound
    }

    @inline(never)
    private mutating func look(_ host: some PortHost) -> Bool {
        unsent = host.unsentAnswers
        if phase == .open {
            guard unsent > bound else { return false }
            phase = .held(quietTicks: 0)
            remember(host)
        } else if unsent <= bound / 2 {
            phase = .open
            isEbbing = true
            return false
        }
        return phase != .refusing
    }

    /// How far the answers from a time of holding are sent.
    enum Ebb {
        case held
        case goesOn
        case over
    }

    /// Looks, while `isEbbing`, whether all answers are sent; that is told once.
    mutating func ebb(_ host: some PortHost) -> Ebb {
        guard isEbbing, phase == .open else { return .held }
        unsent = host.unsentAnswers
        guard unsent == 0 else { return .goesOn }
        isEbbing = false
        return .over
    }

    /// The peer has decoded what it was sent.
    mutating func creditCame() { gotCredit = true }

    private mutating func remember(_ host: some PortHost) {
        written = host.writtenAnswers
        unsentBefore = unsent
        gotCredit = false
    }

    /// - Returns: Whether a timer has to be started, as none runs.
    mutating func startTicking() -> Bool {
        defer { isTicking = true }
        return !isTicking
    }

    /// A part of the patience has passed.
    ///
    /// - Returns: Whether a timer has to be started for the next one.
    mutating func tick(_ host: some PortHost) -> Bool {
        isTicking = false
        judge(host)
        return phase != .open && startTicking()
    }

    private mutating func judge(_ host: some PortHost) {
        _ = look(host)
        switch phase {
        case .open: return
        case .held(let quietTicks):
            if gotCredit || host.writtenAnswers != written {
                phase = .held(quietTicks: 0)
            } else if quietTicks < Self.ticks {
                // The first one may come early: the timer runs on from one time of waiting to the next.
                phase = .held(quietTicks: quietTicks + 1)
            } else {
                phase = .refusing
            }
            remember(host)
        case .refusing:
            // Refusals are answers themselves, and written meanwhile: only what was there before them counts.
            guard gotCredit || unsent < unsentBefore else { return }
            phase = .held(quietTicks: 0)
            remember(host)
        }
    }
}
