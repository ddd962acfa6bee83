/// What the leader of a loop does, and how it learns of new work.
///
///     missing --(the first work)--> called --(a thread takes the lead)--> idle(awake)
///
///     idle(awake) --(work)--> working --(it has returned)--> idle(awake)
///     idle(awake) --(no work)--> idle(looking) --(time is over)--> idle(sleeping)
///     idle(awake) --(no work)--> idle(sleeping)
///     idle(looking), idle(sleeping) --(new work, or an event)--> idle(awake)
///     idle(attention) --(input)--> reading(attention) --(it is read)--> idle(attention)
///     reading(looking), reading(sleeping) --(new work)--> reading(awake)
///
///     working, reading, idle while it writes --(for too long)--> called, and another thread takes the lead
///     idle(awake) --(the loop has stopped and has no work)--> gone
///
/// Read and written under the loop's lock. Only the leader makes the transitions, except `call`, which the watchdog makes,
/// and `hear`, which the threads make that add work. A thread that has lost the lead makes none.
enum Leader: Equatable {
    /// No thread was started.
    case missing
    /// A thread is started or woken to take the lead.
    case called
    /// Between two pieces of work, looking for work, asleep, or writing. Unless it writes, it cannot lose the lead now.
    ///
    /// During a write `EventLoop.writer` holds the leader's token.
    case idle(Attention)
    /// In a piece of work, which may be user code.
    case working
    case reading(Attention)
    /// The loop has stopped, and has no thread that leads.
    case gone

    /// How the leader learns of new work.
    enum Attention: Equatable {
        /// It looks at the queue before it waits.
        case awake
        /// It polls, and has to be notified by `EventLoop.hasNews`.
        case looking
        /// It sleeps in the poller or is about to, and nothing has woken it yet.
        case sleeping
    }

    enum Piece {
        case work
        case read
        case write
    }

    /// Whether the leader is in a piece of work or in a read, where it may be held.
    @inline(__always)
    var isInPiece: Bool {
        switch self {
        case .working, .reading: true
        case .missing, .called, .idle, .gone: false
        }
    }

    /// Has a thread take the lead.
    mutating func call() { self = .called }

    /// - Returns: Whether the calling thread leads from now on.
    mutating func takeLead() -> Bool {
        guard self == .called else { return false }
        self = .idle(.awake)
        return true
    }

    @inline(__always)
    mutating func begin(_ piece: Piece) {
        switch (piece, self) {
        case (.work, _): self = .working
        case (.read, .idle(let attention)): self = .reading(attention)
        case (.read, _), (.write, _): break
        }
    }

    /// Notes that a piece of work or a read is over.
    @inline(__always)
    mutating func endPiece() {
        switch self {
        case .working: self = .idle(.awake)
        case .reading(let attention): self = .idle(attention)
        case .missing, .called, .idle, .gone: break
        }
    }

    /// Notes how the leader learns of work from now on.
    @inline(__always)
    mutating func attend(_ attention: Attention) {
        if case .idle = self { self = .idle(attention) }
    }

    /// How to have the leader look at its state again.
    enum Notice {
        /// There is no leader: start the loop's threads.
        case start
        /// The leader looks anyway.
        case none
        /// Set `EventLoop.hasNews`.
        case news
        /// Wake the poller.
        case wake
    }

    /// Has the leader look at its state again, because there is new work.
    @inline(__always)
    mutating func hear() -> Notice {
        switch self {
        case .missing: return .start
        case .idle(.looking):
            self = .idle(.awake)
            return .news
        case .idle(.sleeping):
            self = .idle(.awake)
            return .wake
        case .reading(.looking):
            self = .reading(.awake)
            return .news
        case .reading(.sleeping):
            self = .reading(.awake)
            return .wake
        case .called, .idle(.awake), .working, .reading(.awake), .gone: return .none
        }
    }

    /// Ends the lead of a stopped loop without work.
    mutating func leave() { self = .gone }
}
