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
    /// No thread reads. The endpoint is kept for the next thread: the loop does not read until the watchdog finds that
    /// no further thread has come.
    case reserved

    enum EnterAction {
        /// Another thread reads.
        case refuse
        /// The loop reads, and has to stop.
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

    /// - Returns: Whether a thread was the reader.
    @discardableResult
    mutating func leave(reserving: Bool) -> Bool {
        guard self == .thread else { return false }
        self = reserving ? .reserved : .loop
        return true
    }

    enum ExpireAction {
        /// A thread reads; the loop reads again after that thread has left.
        case none
        case startLoop
    }

    mutating func expire() -> ExpireAction {
        if self == .thread { return .none }
        self = .loop
        return .startLoop
    }
}

/// The thread outside the loop that reads a channel's endpoint while it waits for an answer, under the channel's gate.
struct BlockingReader: ~Copyable {
    /// A blocking call counts as consecutive if it begins within so many nanoseconds after the last one began.
    private static let longestGap: UInt64 = 200_000
    private static let callsBeforeReserving = 3
    /// A reservation stays if a blocking call began within the last so many nanoseconds.
    private static let reservationTime: UInt64 = 1_000_000

    /// State that a channel needs from its first blocking call on.
    struct Calls {
        /// The number of consecutive blocking calls.
        fileprivate(set) var consecutive = 0
        fileprivate var enteredAt: UInt64 = 0
        /// The resources that the last thread has left for the next one, while the reader is `reserved`.
        var resources: BlockingReaderResources?
        /// The number of threads that wait until they may read, or until their condition is true.
        var waiting = 0
        /// Wakes the blocking reader; the property is set while that thread waits in the kernel.
        var sleeping: Unmanaged<BlockingReaderResources>?
        /// Wakes a blocking reader that waits for an answer in shared memory.
        var awaitingAnswer: Unmanaged<SharedMemoryTransport>?
        /// The condition that threads wait for; made when it is first needed.
        fileprivate var condition: Condition?
        /// Decides whether the blocking reader polls before it sleeps; see `Session`.
        var policy = PollingPolicy()
    }

    private(set) var reader = EndpointReader.loop
    /// Whether the watchdog checks the channel at each tick.
    private(set) var isWatched = false
    /// Nil before the first blocking call, never nil after it.
    ///
    /// This is a pointer and not an object, because the references of an object would be counted at each use.
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

    /// Whether a thread reads, so that the loop does not read the endpoint.
    @inline(__always)
    var isReading: Bool { reader == .thread }

    mutating func enter() -> EndpointReader.EnterAction { reader.enter() }

    /// Whether a thread with other work may wait briefly.
    mutating func mayWaitBriefly(_ isFixed: Bool) -> Bool { !isReading && (isFixed || calls.policy.isPromising()) }

    /// Counts consecutive calls.
    mutating func countCall(at now: UInt64) {
        let isNext = now &- calls.enteredAt < Self.longestGap
        calls.consecutive = isNext ? calls.consecutive + 1 : 0
        calls.enteredAt = now
    }

    /// State that the blocking reader uses without the gate until it leaves.
    struct Session {
        /// Whether the input may stay reserved after the thread has left, so that the loop does not read it.
        ///
        /// The reservation saves two system calls for each call. If no other call follows, the watchdog has the loop
        /// read again at its second tick, so input waits no longer than that.
        let mayReserve: Bool
        /// The polling policy.
        ///
        /// Only the blocking reader uses it; while there is no blocking reader, it is used under the gate.
        let policy: UnsafeMutablePointer<PollingPolicy>?
    }

    /// The session of a thread that has entered.
    var session: Session {
        mutating get {
            Session(mayReserve: calls.consecutive >= Self.callsBeforeReserving, policy: pointer.pointer(to: \.policy))
        }
    }

    mutating func leave() { reader.leave(reserving: false) }

    /// - Returns: Whether the channel has to be registered with the watchdog.
    mutating func leaveReserving() -> Bool {
        guard reader.leave(reserving: true), !isWatched else { return false }
        isWatched = true
        return true
    }

    enum ExpireAction {
        /// The watchdog checks again at its next tick.
        case keep
        /// The loop reads again.
        case startLoop
        /// A thread reads.
        case none
    }

    /// Gives the endpoint back to the loop, unless a thread reads it or a blocking call began a short time ago; the
    /// watchdog calls this.
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

    /// The condition that a thread waits for; `signal` ends the wait.
    mutating func conditionToAwait() -> Condition {
        if let condition = calls.condition { return condition }
        let condition = Condition()
        calls.condition = condition
        return condition
    }
}
