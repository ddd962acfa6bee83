/// The place of a call of the peer on its way to its object.
///
///     waiting --(an answer among its arguments is not known)--> delayed --(the answer is known)--> waiting
///     waiting --(it is its turn)---------------------> ready(inTurn)
///     waiting --(there is no memory for the call)----> ready(outOfTurn)
///     ready(turn) --(it is taken out of the queue)---> started(turn) --(its first job has returned)--> over
///
/// Read and written under the connection's lock, but for `needsHelper`, which the thread that starts the call reads.
enum CallPlace: Equatable {
    /// In the mailbox of the object, or at an answer that is not known and that the call is for.
    case waiting
    /// The first in its mailbox, and waiting for an answer among its arguments.
    case delayed
    /// In the queue of calls that can start.
    case ready(Turn)
    /// - Parameter needsHelper: Whether other calls were ready when this one started. They need another thread if the
    ///   method of this one blocks.
    case started(Turn, needsHelper: Bool)
    /// The first job of the method has returned: the method has returned or is suspended.
    case over

    /// What the call means for the messages that wait for the same object.
    enum Turn {
        /// The object's next message waits for the first job of this one.
        case inTurn
        /// The call is refused at once, beside the messages that wait.
        case outOfTurn
    }

    @inline(__always)
    var needsHelper: Bool {
        if case .started(_, true) = self { true } else { false }
    }

    /// Has the call wait for an answer among its arguments.
    mutating func delay() {
        if self == .waiting { self = .delayed }
    }

    /// Notes that the answer that the call waited for is known.
    mutating func answerIsKnown() {
        if self == .delayed { self = .waiting }
    }

    /// Lets the call start when its turn among all objects comes.
    mutating func becomeReady(_ turn: Turn) {
        if self == .waiting { self = .ready(turn) }
    }

    @inline(__always)
    mutating func start(needsHelper: Bool) {
        if case .ready(let turn) = self { self = .started(turn, needsHelper: needsHelper) }
    }

    enum FirstJobAction {
        /// This was noted before.
        case none
        /// Count the call for the barriers that wait for it.
        case count
        /// Count it, and let the object's next message start.
        case countAndFreeObject
    }

    /// Notes that the first job has returned.
    @inline(__always)
    mutating func firstJobReturned() -> FirstJobAction {
        guard case .started(let turn, _) = self else { return .none }
        self = .over
        return turn == .inTurn ? .countAndFreeObject : .count
    }
}

/// Why a call of the peer must not run.
///
///     none < tables < answers < calls < failure < late < cancelled
///
/// Each is found at a time of its own: when the call is entered, while it waits, or when it starts. The later one in this
/// line is reported.
enum Obstacle: UInt8 {
    case none
    /// The call's tables cannot be used.
    case tables
    /// Too many answers have been unread for too long.
    case answers
    /// Too many calls are running.
    case calls
    /// An answer that the call is for or has as an argument has failed, or there was no memory for the call. See
    /// `InboundCall.failure`.
    case failure
    /// The call came after an orderly close had begun.
    case late
    /// The call was cancelled before it started.
    case cancelled

    mutating func add(_ other: Obstacle) {
        if other.rawValue > rawValue { self = other }
    }
}
