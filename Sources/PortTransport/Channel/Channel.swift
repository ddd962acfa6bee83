internal import CPortShims
internal import Synchronization

/// Frames over one endpoint.
///
/// Three locks, taken in this order and never held in user code: `readLock` (parsing and delivery), `queueLock` (what
/// is to be written; never held during a system call), `gate` (the end, the poller's interest, which thread reads). A
/// thread that writes marks the queue as being flushed instead of holding its lock, so `enqueue` never waits for the
/// kernel.
package final class Channel: LoopChannel, @unchecked Sendable {
    // Each of the three states is protected by the lock of its name.

    /// What is needed from the first large message on.
    final class LargeWriting {
        var pacing = MessagePacing()
        /// The handler is notified once at most this many bytes of this side's own large messages are unsent.
        var mark: Int?
        /// While there is a region: looks whether it is still used.
        var regionTimer: TimerToken?

        /// Whether nothing has to follow a write.
        var isQuiet: Bool { !pacing.isNarrow && mark == nil }
    }

    struct WriteState: ~Copyable {
        // In an order that leaves few gaps.
        var queue: OutboundQueue
        /// The handler is notified once at most this many bytes of answers are unsent.
        var answerMark: Int?
        var output = OutputLifecycle()
        /// The poller is asked to report room.
        var hasInterest = false
        /// Why the channel ends once no thread writes.
        var endAfterFlush: ChannelEnd?
        var sendsCredentials = false
        /// What the queue holds, or held since it was empty.
        var content: RingContent = []
        /// The last write found no free piece of the region, though there may be room for frames.
        var waitsForPiece = false
        private(set) var large: LargeWriting?
        /// Regions for blobs that are to be offered, in this order.
        ///
        /// A negative number: the descriptor could not be sent.
        var blobOffers: [CInt] = []

        init(window: UInt64) { queue = OutboundQueue(window: window) }

        /// The next write is of whole frames alone.
        @inline(__always)
        var hasOnlyFrames: Bool { queue.hasOnlyFrames && !sendsCredentials }

        /// There are frames to write, which need not wait until a piece is free.
        var mayPassPieces: Bool { waitsForPiece && queue.hasFrames }

        /// After a whole write: nothing follows from it.
        @inline(__always)
        var isQuiet: Bool {
            queue.isIdle && output.isQuiet && !hasInterest && answerMark == nil && blobOffers.isEmpty
                && large?.isQuiet ?? true
        }

        mutating func madeLarge() -> LargeWriting {
            if let large { return large }
            let made = LargeWriting()
            large = made
            return made
        }
    }

    struct ReadState: ~Copyable {
        var reader: FrameReader
        /// As in the gate's state, which holds it until this is nil.
        unowned(unsafe) var handler: (any FrameHandler)?
        /// Nil while the input ends with a whole frame.
        var part: FramePart?
        var descriptors = Ring<CInt>()
        var input = InputState.endpoint
        /// Why a read failed.
        var failure = Rare<TransportError>.missing
        /// A blocking reader has the endpoint for itself, or it is reserved for one.
        var isLoopStopped = false
        var wantsCredentials = false
        var lastWasShort = false
        var arrival = SharedMemoryArrival.notExpected
        /// How many of the next bytes may have come with descriptors; `.max`: all may.
        var foreignBytes = 0
        /// The thread that reads looks again by itself, so the peer need not notify it of what comes.
        var isPolled = false

        init(limits: FrameReader.Limits) { reader = FrameReader(limits: limits) }

        /// Those that no frame has claimed.
        mutating func takeDescriptors() -> [CInt] { descriptors.removeAll() }
    }

    struct GateState: ~Copyable {
        var life = LifeState.created
        /// The only reference to it that the channel keeps.
        var handler: (any FrameHandler)?
        /// Why the channel ends, once `life` has an end.
        var end: ChannelEnd?
        var inputSource: UInt64 = 0
        var outputSource: UInt64 = 0
        var inputInterest: UInt32 = 0
        /// Whether a short read has emptied the input, so that the poller need report arrivals only.
        var readsWhole = false
        var outputInterest: UInt32 = 0
        /// For memory links: a read stands in the loop's queue.
        var readScheduled = false
        var peer: PeerCredentials?
        var blockingReader = BlockingReader()
        var writeError: CInt = 0
        var input = InputState.endpoint
        var output = OutputTarget.endpoint
        var users: LinkUsers = [.input, .output]
        /// What the loop is notified of again, once the read lock is free.
        var owed: OwedWork = []
        /// The loop listens to the doorbell for input.
        var wantsInput = false
        /// What the poller is asked of the doorbell; nil: nothing yet.
        var doorbellInterest: UInt32?

        /// The loop, or a blocking reader, may still read.
        ///
        /// `mutating`, because otherwise its callers copy the whole state first.
        var mayRead: Bool { mutating get { !input.isEnded && !life.hasEnd } }
    }

    /// What the poller watches for room.
    enum OutputTarget: UInt8 {
        case endpoint
        /// The doorbell of the shared-memory transport.
        case shared
        /// Nothing: a pipe's writing end is closed to end the output.
        case closed
    }

    package let loop: any PortLoop
    /// The same if it is an event loop, to be used without counting references.
    let eventLoopReference: Unmanaged<EventLoop>?
    let link: Link
    package let carriesDescriptors: Bool
    /// Where none are accepted the kernel refuses a peer that sends some, if it can, and a cheaper system call reads.
    let acceptsDescriptors: Bool
    let asksKernel: Bool
    let credentialSource: ChannelEndpoint.CredentialSource
    let maximumFrame: UInt32
    let answerKind: UInt8?
    let countedKinds: UInt32
    let unsentFrames: Int32
    let unsentMessages: Int32
    let forkCount: UInt32
    /// Memory shared with the peer.
    ///
    /// Written under the read lock, and never while a direction goes through it.
    @exclusivity(unchecked) var sharedMemory: SharedMemoryTransport?
    /// Whether what is written goes through `sharedMemory`, which is there from then on; for threads without a lock.
    let writesToSharedMemory = Atomic<Bool>(false)
    /// Whether what is read comes from it, in the same way.
    let readsSharedMemory = Atomic<Bool>(false)

    /// The three locks, which lie in the channel itself, so that they take no block of their own.
    private struct Locks {
        var queue = port_lock()
        var read = port_lock()
        var gate = port_lock()
    }

    @exclusivity(unchecked) private var locks = Locks()
    /// Where they are, taken once: an access to the property would be one to all of them.
    private let places: UnsafeMutablePointer<Locks>
    var queueLock: StateLock<WriteState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.queue).unsafelyUnwrapped) }
    }
    /// Given back by `unlockReading`.
    var readLock: StateLock<ReadState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.read).unsafelyUnwrapped) }
    }
    var gate: StateLock<GateState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.gate).unsafelyUnwrapped) }
    }
    // Unchecked, because the locks say who may use them.
    @exclusivity(unchecked) var writing: WriteState
    @exclusivity(unchecked) var reading: ReadState
    @exclusivity(unchecked) var gated = GateState()
    /// Whether the channel ends once no thread writes.
    ///
    /// Written under the queue's lock; the thread that writes reads it after it has had that lock.
    let endsAfterFlush = Atomic<Bool>(false)
    /// Whether the loop has to be notified of work again; the thread that gives the read lock back looks at it.
    let isOwed = Atomic<Bool>(false)
    /// Rises whenever something may have become true that a blocking reader waits for.
    ///
    /// Written under the gate, read without.
    let readerSignals = Atomic<UInt64>(0)
    /// Bytes of large messages consumed, for the reader to see at its next read.
    let consumed = Atomic<UInt64>(0)
    /// Whole frames read, so that the writer sees whether large messages have the channel to themselves.
    let framesRead = Atomic<UInt64>(0)
    /// The kernel took less than it was given; writing goes on when it says so.
    ///
    /// Written under the queue's lock, read also under the gate: what the poller is asked is this as it is then, not as
    /// it was when the asking thread left the queue's lock.
    let isBlocked = Atomic<Bool>(false)

    /// Too many bytes of whole frames are unsent: the owner should wait with more until the handler is notified.
    ///
    /// Written under the queue's lock.
    let frameQueueIsFull = Atomic<Bool>(false)

    /// Closes what a peer sent, which may be anything, without waiting for what is behind it.
    package static func closeForeign(_ descriptors: [CInt]) {
        guard !descriptors.isEmpty else { return }
        port_close_foreign(descriptors, descriptors.count)
    }

    /// Counts the whole frames read so far, and the large messages.
    package var framesReceived: UInt64 { framesRead.load(ordering: .relaxed) }

    /// The most descriptors a frame can carry.
    package static let maximumDescriptors = Int(PORT_MAXIMUM_DESCRIPTORS)

    /// A channel over `endpoint`, which it owns from now on.
    ///
    /// Nothing is read before `start`.
    package init(
        endpoint: ChannelEndpoint, loop: any PortLoop,
        configuration: ChannelConfiguration = ChannelConfiguration()
    ) {
        carriesDescriptors = endpoint.carriesDescriptors
        acceptsDescriptors = carriesDescriptors && configuration.acceptsDescriptors
        asksKernel = configuration.asksKernel
        credentialSource = endpoint.credentialSource
        let peer = endpoint.peer
        // An endpoint that another channel has taken looks like one whose peer is gone.
        link = endpoint.take() ?? .memory(MemoryLink.closedEnd())
        self.loop = loop
        eventLoopReference = (loop as? EventLoop).map { Unmanaged.passUnretained($0) }
        maximumFrame = UInt32(configuration.maximumFrame)
        answerKind = configuration.answerKind
        countedKinds = configuration.countedKinds
        unsentFrames = Int32(clamping: configuration.unsentFrames)
        unsentMessages = Int32(clamping: configuration.unsentMessages)
        forkCount = port_fork_count()
        places = withUnsafeMutablePointer(to: &locks) { $0 }
        writing = WriteState(window: configuration.window)
        reading = ReadState(
            limits: FrameReader.Limits(
                frame: configuration.maximumFrame, bulk: configuration.maximumMessage, window: configuration.window,
                carriesDescriptors: acceptsDescriptors))
        gated.peer = peer
        super.init()
        gated.readsWhole = !acceptsDescriptors && credentialSource != .message && !link.mayReadShort
        if acceptsDescriptors { passDescriptors() } else { refuseDescriptors() }
        if credentialSource == .message {
            writing.sendsCredentials = true
            reading.wantsCredentials = true
            _ = port_pass_credentials(link.inputDescriptor, true)
        }
    }

    deinit {
        if !gated.users.isEmpty {
            link.close(alsoOutput: gated.output != .closed)
            sharedMemory?.close()
        }
        for descriptor in writing.queue.discard() { port_close(descriptor) }
        for descriptor in writing.blobOffers where descriptor >= 0 { port_close(descriptor) }
        Self.closeForeign(reading.takeDescriptors())
    }

    var eventLoop: EventLoop? { eventLoopReference?.takeUnretainedValue() }

    /// True in a forked child, which must not touch its parent's connection.
    @inline(__always)
    var isForked: Bool { port_fork_count() != forkCount }

    /// The peer's credentials: from the kernel on connected sockets, with the first bytes on socketpairs, nil on pipes.
    package var peer: PeerCredentials? { isForked ? nil : gate.withLock { gated.peer } }

    /// Begins to read.
    ///
    /// The channel and its handler live until the handler's `ended` has returned.
    package func start(_ handler: any FrameHandler) {
        // A lock that another thread held at the fork would never be free.
        guard !isForked else { return }
        let action = gate.withLock {
            let action = gated.life.start()
            if case .begin = action { gated.handler = handler }
            return action
        }
        switch action {
        case .refuse: return
        case .deliverEnd: return deliverEnd(to: handler)
        case .begin: break
        }
        _ = Unmanaged.passRetained(self)
        withReadLock { reading.handler = handler }
        if case .memory(let end) = link {
            end.attach(self)
            inputArrived()
            return
        }
        guard let eventLoop else {
            end(.failed(TransportError(.wrongDescriptor, "A manual loop carries memory links only.")))
            return
        }
        do {
            try gate.withLock { (held) throws(TransportError) in
                guard !gated.life.hasEnd else { return }
                // Written to before, and known to the loop since.
                if gated.inputSource != 0 { return setReadInterest(true, held) }
                let interest = readInterest(held)
                gated.inputSource = try eventLoop.addSource(link.inputDescriptor, interest: interest, self)
                gated.inputInterest = interest
            }
        } catch {
            end(.failed(error))
        }
    }

    /// What the frames are delivered to; nil before the start and after the end.
    package var handler: (any FrameHandler)? { isForked ? nil : gate.withLock { gated.handler } }

    /// Whether this channel alone refers to its handler.
    package var holdsHandlerAlone: Bool {
        guard !isForked else { return false }
        return gate.withLock {
            // In two steps: within the first one the handler is held once more.
            let reference = gated.handler?.reference
            return reference?.isHeldOnce ?? false
        }
    }

    override var isSocket: Bool { if case .socket = link { true } else { false } }

    override func memoryToPoll() -> RingPeek? {
        readsSharedMemory.load(ordering: .acquiring) ? sharedMemory?.peek() : nil
    }

    override var peerIsHere: Bool {
        readsSharedMemory.load(ordering: .acquiring) && sharedMemory?.peerIsHere ?? false
    }

    override func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
        let turn = bits & UInt32(PORT_READABLE) != 0 ? readAvailable(readContext, bits) : nil
        if bits & UInt32(PORT_WRITABLE) != 0 || isNotifiedOfRoom(bits) { flush(isWritable: true) }
        if bits & UInt32(PORT_HANG_UP) != 0 { noticeHangUp() }
        return turn
    }

    override func perform(_ work: ChannelWork) {
        switch work {
        case .notify:
            gate.withLock({ gated.handler })?.deliveryEnded(onLoop: true)
        case .flush:
            flush(isWritable: true)
            if case .memory = link { noticeHangUp() }
        case .read: readMemory()
        case .drain: drainAfterFailedWrite()
        case .end: deliverEnd()
        }
    }
    override package func flush() { flush(isWritable: false) }

    override func keepsReservation() -> Bool { isStillReserved() }
}
