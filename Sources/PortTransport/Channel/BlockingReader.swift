/// Which thread reads a channel's endpoint.
///
///                enter                     leave, after several calls in a row
///      loop ────────────────▶ thread ─────────────────────────▶ reserved
///      ▲ ▲                    │    ▲                             │    │
///      │ └───────leave────────┘    └────────────enter────────────┘    │
///      └──────────────────────expire, by the watchdog─────────────────┘
enum EndpointReader: UInt8 {
    case loop
    /// A thread that waits for an answer.
    case thread
    /// No thread: the loop keeps away until the next thread comes or the watchdog finds that none has come.
    case reserved

    enum EnterAction {
        /// Another thread reads.
        case refuse
        /// The loop reads, and has to be stopped.
        case stopLoop
        /// The loop does not read.
        case read
    }

    mutating func enter() -> EnterAction {
        switch self {
        case .thread: return .refuse
        case .loop:
            self = .thread
            return .stopLoop
        case .reserved:
            self = .thread
            return .read
        }
    }

    /// - Returns: Whether a thread has read.
    @discardableResult
    mutating func leave(reserving: Bool) -> Bool {
        guard self == .thread else { return false }
        self = reserving ? .reserved : .loop
        return true
    }

    enum ExpireAction {
        /// A thread reads, and gives reading back when it leaves.
        case none
        case startLoop
    }

    mutating func expire() -> ExpireAction {
        if self == .thread { return .none }
        self = .loop
        return .startLoop
    }
}

/// The one plain thread that reads for a channel while it waits for an answer, under the channel's gate.
struct BlockingReader: ~Copyable {
    /// How soon after another a blocking call has to begin to count as consecutive, and how many have to.
    private static let longestGap: UInt64 = 200_000
    private static let callsBeforeReserving = 3
    /// A reservation that was used so short a time ago stays.
    private static let reservationTime: UInt64 = 1_000_000

    /// What a channel needs from its first blocking call on.
    struct Calls {
        /// Blocking calls that followed each other at once.
        fileprivate(set) var consecutive = 0
        fileprivate var enteredAt: UInt64 = 0
        /// What the next thread needs, left by the last one; there while the reader is `reserved`.
        var resources: BlockingReaderResources?
        /// Threads that wait until they may read, or for their condition.
        var waiting = 0
        /// Wakes the thread that reads, while it waits in the kernel.
        var sleeping: Unmanaged<BlockingReaderResources>?
        /// The same, where memory is shared.
        var awaitingAnswer: Unmanaged<SharedMemoryTransport>?
        /// Made when first needed.
        fileprivate var condition: Condition?
        /// Decides whether the thread that reads polls before it sleeps; see `turn`.
        var policy = PollingPolicy()
    }

    private(set) var reader = EndpointReader.loop
    /// The watchdog looks at the channel at each tick.
    private(set) var isWatched = false
    /// Nil before the first blocking call, and stays from then on.
    ///
    /// A pointer, because a reference to an object would be counted at each use.
    private var made: UnsafeMutablePointer<Calls>?

    init() {}

    deinit {
        guard let made else { return }
        made.pointee.condition?.destroy()
        made.deinitialize(count: 1)
        made.deallocate()
    }

    var calls: Calls {
        @inline(__always) mutating _read { yield pointer.pointee }
        @inline(__always) _modify { yield &pointer.pointee }
    }

    private var pointer: UnsafeMutablePointer<Calls> {
        @inline(__always) mutating get { made ?? make() }
    }

    @inline(never)
    private mutating func make() -> UnsafeMutablePointer<Calls> {
        let calls = UnsafeMutablePointer<Calls>.allocate(capacity: 1)
        calls.initialize(to: Calls())
        made = calls
        return calls
    }

    /// A thread reads; the loop does not read the endpoint.
    @inline(__always)
    var isReading: Bool { reader == .thread }

    mutating func enter() -> EndpointReader.EnterAction { reader.enter() }

    /// Counts the calls that follow each other at once.
    mutating func countCall(at now: UInt64) {
        let isNext = now &- calls.enteredAt < Self.longestGap
        calls.consecutive = isNext ? calls.consecutive + 1 : 0
        calls.enteredAt = now
    }

    /// What the thread that reads takes along, to use it without the gate until it leaves.
    struct Turn {
        /// Whether the loop may keep away after the thread has left, which saves two system calls for each call; the
        /// watchdog makes the loop read at its second tick from then, so nothing is left unread longer than that.
        let mayReserve: Bool
        /// The policy, which that thread uses alone.
        ///
        /// While none reads, it is looked at under the gate.
        let policy: UnsafeMutablePointer<PollingPolicy>?
    }

    /// For a thread that has entered.
    var turn: Turn {
        mutating get {
            Turn(mayReserve: calls.consecutive >= Self.callsBeforeReserving, policy: pointer.pointer(to: \.policy))
        }
    }

    mutating func leave() { reader.leave(reserving: false) }

    /// - Returns: Whether the watchdog has to be asked to look at the channel.
    mutating func leaveReserving() -> Bool {
        guard reader.leave(reserving: true), !isWatched else { return false }
        isWatched = true
        return true
    }

    enum ExpireAction {
        /// The watchdog looks again at its next tick.
        case keep
        /// The loop reads again.
        case startLoop
        /// A thread reads.
        case none
    }

    /// For the watchdog.
    mutating func expire(at now: UInt64, channelEnds: Bool) -> ExpireAction {
        let isUsed = isReading || now &- (made?.pointee.enteredAt ?? 0) < Self.reservationTime
        if isUsed, !channelEnds { return .keep }
        isWatched = false
        switch reader.expire() {
        case .none: return .none
        case .startLoop: return .startLoop
        }
    }

    mutating func signal() {
        guard let made else { return }
        made.pointee.sleeping?._withUnsafeGuaranteedRef { $0.wake() }
        made.pointee.awaitingAnswer?._withUnsafeGuaranteedRef { $0.endWait() }
        made.pointee.condition?.broadcast()
    }

    /// What a signal ends the wait for.
    mutating func conditionToAwait() -> Condition {
        if let condition = calls.condition { return condition }
        let condition = Condition()
        calls.condition = condition
        return condition
    }
}
