/// The life of a channel's output: four states, under the queue's lock, and transitions that return what to do.
///
/// `phase` says what is still written:
///
///     open ──finish──▶ finishing ──queueIsEmpty──▶ finished
///       │                  │                          │
///       └──────────────────┴────────close, fail───────┴──▶ closed
///
/// `bound` says when the channel ends by itself:
///
///         input ──────outliveInput─────▶ finish
///           │                              │
///       inputEnded                     inputEnded
///           ▼                              ▼
///       lastWrite ────outliveInput────▶ lastFinish
///
/// `flush` says whether a thread writes:
///
///                  beginFlush              beginFlush, when the poller reports room
///          idle ────────────────▶ writing ─────────────────────▶ retrying
///           ▲                     │  ▲                               │
///           └──endFlush, cutShort─┘  └──────────cutShort─────────────┘
///
/// `medium` changes once, from the endpoint to shared memory.
struct OutputLifecycle {
    enum Phase: UInt8 {
        case open
        /// Nothing more is enqueued.
        case finishing
        /// Everything is written, and the output is ended.
        case finished
        /// Nothing is written any more.
        case closed
    }

    enum Bound: UInt8 {
        /// The input goes on. Once it ends, the channel ends when everything is written.
        case input
        /// The input goes on, but may end before the output does: the channel ends when this side has finished.
        case finish
        /// The input has ended: so does the channel, once everything is written.
        case lastWrite
        /// The input has ended: so does the channel, once this side has finished and everything is written.
        case lastFinish
    }

    enum Flush: UInt8 {
        case idle
        /// A thread writes.
        case writing
        /// A thread writes, and the poller has reported room meanwhile.
        case retrying
    }

    enum Medium: UInt8 {
        case endpoint
        /// Everything goes into the memory shared with the peer.
        case shared
    }

    private(set) var phase = Phase.open
    private(set) var bound = Bound.input
    private(set) var flush = Flush.idle
    private(set) var medium = Medium.endpoint

    @inline(__always)
    var isOpen: Bool { phase == .open }

    @inline(__always)
    var isClosed: Bool { phase == .closed }

    @inline(__always)
    var isShared: Bool { medium == .shared }

    @inline(__always)
    var isFlushing: Bool { flush != .idle }

    /// For the thread that writes: a complete write has no further consequence.
    @inline(__always)
    var isQuiet: Bool { phase == .open && flush == .writing && bound.rawValue < Bound.lastWrite.rawValue }

    /// The input is over, and the output is over or need not go on.
    var isLastWrite: Bool { bound == .lastWrite || (bound == .lastFinish && phase != .open) }

    // MARK: The phase

    mutating func finish() {
        if phase == .open { phase = .finishing }
    }

    struct WrittenActions: OptionSet {
        let rawValue: UInt8

        static let finishOutput = WrittenActions(rawValue: 1)
        static let endChannel = WrittenActions(rawValue: 2)
    }

    /// Everything is written, and no thread writes.
    mutating func queueIsEmpty() -> WrittenActions {
        guard phase != .closed else { return [] }
        var actions: WrittenActions = []
        if phase == .finishing {
            phase = .finished
            actions.insert(.finishOutput)
        }
        if isLastWrite { actions.insert(.endChannel) }
        return actions
    }

    enum CloseAction {
        /// It was closed before.
        case none
        /// The caller gives up what is not written.
        case discard
        /// The writing thread discards it when its write returns.
        case leaveToWriter
    }

    mutating func close() -> CloseAction {
        guard phase != .closed else { return .none }
        phase = .closed
        return flush == .idle ? .discard : .leaveToWriter
    }

    enum FailAction {
        /// It was closed before, or another thread writes now and finds the failure itself.
        case none
        /// The content of shared memory is invalid.
        case endWithViolation
        case endOfFile
        /// Read what the peer has sent, then end the channel.
        case drain
    }

    /// A write has failed; closes the output.
    mutating func fail() -> FailAction {
        guard phase != .closed, flush == .idle else { return .none }
        phase = .closed
        if medium == .shared { return .endWithViolation }
        return bound == .lastWrite || bound == .lastFinish ? .endOfFile : .drain
    }

    // MARK: The bound

    mutating func outliveInput() {
        switch bound {
        case .input: bound = .finish
        case .lastWrite: bound = .lastFinish
        case .finish, .lastFinish: break
        }
    }

    enum InputEndAction {
        case endChannel
        case flush
        /// The output goes on, so the poller also watches for the end of the peer.
        case watchAndFlush
    }

    mutating func inputEnded(isEmpty: Bool) -> InputEndAction {
        switch bound {
        case .input: bound = .lastWrite
        case .finish: bound = .lastFinish
        case .lastWrite, .lastFinish: break
        }
        if phase == .closed || (isLastWrite && isEmpty && flush == .idle) { return .endChannel }
        // Shared memory accepts bytes that the peer will never read.
        return isLastWrite && medium == .endpoint ? .flush : .watchAndFlush
    }

    // MARK: The flush

    enum BeginAction {
        case none
        /// Nothing can be written: settle that.
        case settle
        case write
    }

    /// - Parameters:
    ///   - isWritable: The poller has reported room, or the loop goes on with a write.
    ///   - isBlocked: The last write found no room.
    ///   - canWrite: There is something to write.
    @inline(__always)
    mutating func beginFlush(isWritable: Bool, isBlocked: Bool, canWrite: Bool) -> BeginAction {
        if flush != .idle {
            if isWritable { flush = .retrying }
            return .none
        }
        if phase == .closed || (isBlocked && !isWritable) { return .none }
        guard canWrite else { return .settle }
        flush = .writing
        return .write
    }

    @inline(__always)
    mutating func endFlush() { flush = .idle }

    enum ShortWriteAction {
        case writeAgain
        /// The flush is over; it goes on when the poller reports room.
        case block
    }

    /// A write took less than was planned.
    mutating func cutShort(hasRoom: Bool) -> ShortWriteAction {
        if flush == .retrying || hasRoom {
            flush = .writing
            return .writeAgain
        }
        flush = .idle
        return .block
    }

    // MARK: The medium

    mutating func share() { medium = .shared }
}
