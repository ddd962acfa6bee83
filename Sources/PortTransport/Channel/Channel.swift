internal import CPortShims
internal import Synchronization

/// Frames over one endpoint.
///
/// Three locks, taken in this order and never held in user code: `readLock` (parsing and delivery), `queueLock` (what
/// is to be written; never held during a write, only during short system calls such as those that set the poller's
/// interest or a buffer's size), `gate` (the end, the poller's interest, which thread reads). A thread that writes
/// marks the queue as being flushed instead of holding its lock, so `enqueue` never waits for the kernel.
package final class Channel: LoopChannel, @unchecked Sendable {
    // Each of the three states is protected by the lock of its name.

    /// State that is needed from the first large message on.
    final class LargeWriting {
        var pacing = MessagePacing()
        /// The handler is notified once at most this many bytes of this side's own large messages are unsent.
        var mark: Int?
        /// The timer that checks whether the region is still used, while there is one.
        var regionTimer: TimerToken?

        /// Whether a write has no further consequence.
        var isQuiet: Bool { !pacing.isNarrow && mark == nil }
    }

    /// The work that may have to follow a complete write.
    struct FollowUps: OptionSet {
        let rawValue: UInt8

        /// The poller reports room, which has to be turned off.
        static let interest = FollowUps(rawValue: 1)
        /// The handler waits until fewer bytes of answers are unsent.
        static let answerMark = FollowUps(rawValue: 2)
        static let blobOffers = FollowUps(rawValue: 4)
        /// Large messages were written since the queue was last empty.
        static let largeMessages = FollowUps(rawValue: 8)

        subscript(_ part: FollowUps) -> Bool {
            get { contains(part) }
            set { if newValue { insert(part) } else { remove(part) } }
        }
    }

    struct WriteState: ~Copyable {
        // The order of the properties leaves few gaps.
        var queue: OutboundQueue
        /// The handler is notified once at most this many bytes of answers are unsent.
        var answerMark: Int? {
            didSet { followUps[.answerMark] = answerMark != nil }
        }
        var output = OutputLifecycle()
        private var followUps: FollowUps = []
        /// Why the channel ends once no thread writes.
        var endAfterFlush: ChannelEnd?
        var sendsCredentials = false
        /// The kinds of frames that were enqueued since the queue was last empty.
        var content: RingContent = []
        /// The last write found no free *piece* of the region (see `Region`), though there may be room for frames.
        var waitsForPiece = false
        private(set) var large: LargeWriting?
        /// The descriptors of regions for blobs that are yet to be offered, in this order.
        ///
        /// A negative number stands for a descriptor that could not be sent.
        var blobOffers: [CInt] = [] {
            didSet { followUps[.blobOffers] = !blobOffers.isEmpty }
        }

        init(window: UInt64, sizes: OutputSizes) { queue = OutboundQueue(window: window, sizes: sizes) }

        /// Whether the next write holds only whole frames.
        @inline(__always)
        var hasOnlyFrames: Bool { queue.hasOnlyFrames && !sendsCredentials }

        /// Whether there are frames to write that need not wait for a free piece.
        var mayPassPieces: Bool { waitsForPiece && queue.hasFrames }

        /// Whether a complete write has no further consequence.
        @inline(__always)
        var isQuiet: Bool { queue.isIdle && output.isQuiet && followUps.isEmpty }

        /// The poller reports room.
        var hasInterest: Bool {
            get { followUps[.interest] }
            set { followUps[.interest] = newValue }
        }

        /// Notes that everything is written.
        mutating func rest(_ link: Link) {
            content = []
            guard followUps[.largeMessages], let large else { return }
            large.pacing.rest(link)
            followUps[.largeMessages] = !large.isQuiet
        }

        mutating func madeLarge() -> LargeWriting {
            followUps.insert(.largeMessages)
            if let large { return large }
            let made = LargeWriting()
            large = made
            return made
        }
    }

    struct ReadState: ~Copyable {
        var reader: FrameReader
        /// The handler; the gate's state holds a reference to it until this property is nil.
        unowned(unsafe) var handler: (any FrameHandler)?
        /// The first part of a frame that is not complete; nil if there is none.
        var part: FramePart?
        var descriptors = Ring<CInt>()
        var input = InputState.endpoint
        /// Why a read failed.
        var failure = Rare<TransportError>.missing
        /// Only a blocking reader may read the endpoint, or the endpoint is reserved for one.
        var isLoopStopped = false
        var wantsCredentials = false
        var lastWasShort = false
        var arrival = SharedMemoryArrival.notExpected
        /// How many of the next bytes may have come with descriptors; `.max`: all may.
        var foreignBytes = 0
        /// The reading thread checks for input again by itself, so the peer need not notify that thread.
        var isPolled = false

        init(limits: FrameReader.Limits) { reader = FrameReader(limits: limits) }

        /// Removes and returns the descriptors that no frame has claimed.
        mutating func takeDescriptors() -> [CInt] { descriptors.removeAll() }
    }

    struct GateState: ~Copyable {
        var life = LifeState.created
        /// The channel's only counted reference to the handler.
        var handler: (any FrameHandler)?
        /// Why the channel ends; set once `life` has an end.
        var end: ChannelEnd?
        var inputSource: UInt64 = 0
        var outputSource: UInt64 = 0
        var inputInterest: UInt32 = 0
        /// Whether a short read proves that the input is empty, so that the poller need report only arrivals.
        var readsWhole = false
        var outputInterest: UInt32 = 0
        /// For memory links: the loop's queue holds a read.
        var readScheduled = false
        var peer: PeerCredentials?
        var peerProcess = WatchedPeer.none
        var blockingReader = BlockingReader()
        var writeError: CInt = 0
        var input = InputState.endpoint
        var output = OutputTarget.endpoint
        var users: LinkUsers = [.input, .output]
        /// The work that is *owed*: the loop could not do it because another thread had the read lock.
        ///
        /// The thread that releases the lock hands the work back to the loop.
        var owed: OwedWork = []
        /// The loop listens to the doorbell for input.
        var wantsInput = false
        /// The poller's interest in the *doorbell*, the descriptor with which the peer wakes this side; nil before the
        /// interest is first set.
        var doorbellInterest: UInt32?

        /// Whether the loop, or a blocking reader, may still read.
        ///
        /// The getter is `mutating`, because otherwise the callers copy the whole state first.
        var mayRead: Bool { mutating get { !input.isEnded && !life.hasEnd } }
    }

    /// The descriptor that the poller watches for room.
    enum OutputTarget: UInt8 {
        case endpoint
        /// The doorbell of the shared-memory transport.
        case shared
        /// Nothing: the writing end of a pipe is closed to end the output.
        case closed
    }

    package let loop: any PortLoop
    /// The loop if it is an event loop, for use without counting references.
    let eventLoopReference: Unmanaged<EventLoop>?
    let link: Link
    package let carriesDescriptors: Bool
    /// Whether descriptors are accepted.
    ///
    /// If not, the kernel refuses the peer's descriptors, where it can, and reads use a cheaper system call.
    let acceptsDescriptors: Bool
    let asksKernel: Bool
    let credentialSource: ChannelEndpoint.CredentialSource
    let maximumFrame: UInt32
    let answerKind: UInt8?
    let countedKinds: UInt32
    let sizes: OutputSizes.Shared
    let unsentFrames: Int32
    let unsentMessages: Int32
    let mostUnsentFrames: Int32
    let forkCount: UInt32
    /// Memory shared with the peer.
    ///
    /// The property is written under the read lock, and never while a direction goes through the memory.
    @exclusivity(unchecked) var sharedMemory: SharedMemoryTransport?
    /// Whether the output goes through `sharedMemory`, which is not nil from then on; for threads that hold no lock.
    let writesToSharedMemory = Atomic<Bool>(false)
    /// Whether the input comes from `sharedMemory`, in the same way.
    let readsSharedMemory = Atomic<Bool>(false)

    /// The three locks, which are stored in the channel itself and so need no memory block of their own.
    private struct Locks {
        var queue = port_lock()
        var read = port_lock()
        var gate = port_lock()
    }

    @exclusivity(unchecked) private var locks = Locks()
    /// The address of `locks`, taken once: each use of the property would count as an access to all three locks.
    private let places: UnsafeMutablePointer<Locks>
    var queueLock: StateLock<WriteState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.queue).unsafelyUnwrapped) }
    }
    /// The read lock; `unlockReading` releases it.
    var readLock: StateLock<ReadState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.read).unsafelyUnwrapped) }
    }
    var gate: StateLock<GateState> {
        @inline(__always) get { StateLock(at: places.pointer(to: \.gate).unsafelyUnwrapped) }
    }
    // The exclusivity is not checked, because the locks give exclusive access.
    @exclusivity(unchecked) var writing: WriteState
    @exclusivity(unchecked) var reading: ReadState
    @exclusivity(unchecked) var gated = GateState()
    /// The polls that the loop leaves out; see `skipPolls`.
    let pollsToSkip = Atomic<UInt32>(0)
    /// Whether the channel ends once no thread writes.
    ///
    /// The flag is written under the queue's lock; the writing thread reads the flag after it has had that lock.
    let endsAfterFlush = Atomic<Bool>(false)
    /// Whether `owed` holds work for the loop; the thread that releases the read lock checks it.
    let isOwed = Atomic<Bool>(false)
    /// Counts the signals that a blocking reader's condition may have become true.
    ///
    /// The number is written under the gate, and read without it.
    let readerSignals = Atomic<UInt64>(0)
    /// The bytes of large messages that this side has consumed; the frame reader takes the number at its next read.
    let consumed = Atomic<UInt64>(0)
    /// Whole frames read, from which the writer sees whether only large messages use the channel.
    let framesRead = Atomic<UInt64>(0)
    /// Whether the kernel took less than it was given, so that writing goes on only when the poller reports room.
    ///
    /// The flag is written under the queue's lock. A thread that sets the poller's interest reads the flag again under
    /// the gate, so that the interest matches the latest value and not the one that the thread has seen under the
    /// queue's lock.
    let isBlocked = Atomic<Bool>(false)

    /// Whether too many bytes of whole frames are unsent, so that the owner should wait before it adds more, until the
    /// handler is notified.
    ///
    /// The flag is written under the queue's lock.
    let frameQueueIsFull = Atomic<Bool>(false)

    /// Closes descriptors that a peer sent, without waiting: descriptors may be of anything, and closing them may take
    /// long.
    package static func closeForeign(_ descriptors: [CInt]) {
        guard !descriptors.isEmpty else { return }
        port_close_foreign(descriptors, descriptors.count)
    }

    /// The number of whole frames and large messages read so far.
    package var framesReceived: UInt64 { framesRead.load(ordering: .relaxed) }

    /// The most descriptors a frame can carry.
    package static let maximumDescriptors = Int(PORT_MAXIMUM_DESCRIPTORS)

    /// Makes a channel over `endpoint`, which the channel owns from now on.
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
        let learnsSpeaker = endpoint.learnsSpeaker
        let peer = endpoint.peer
        // An endpoint that another channel has taken becomes a link whose peer is gone.
        link = endpoint.take() ?? .memory(MemoryLink.closedEnd())
        self.loop = loop
        eventLoopReference = (loop as? EventLoop).map { Unmanaged.passUnretained($0) }
        maximumFrame = UInt32(configuration.maximumFrame)
        answerKind = configuration.answerKind
        countedKinds = configuration.countedKinds
        unsentFrames = Int32(clamping: configuration.unsentFrames)
        unsentMessages = Int32(clamping: configuration.unsentMessages)
        mostUnsentFrames = Int32(clamping: configuration.mostUnsentFrames)
        forkCount = port_fork_count()
        places = withUnsafeMutablePointer(to: &locks) { $0 }
        writing = WriteState(window: configuration.window, sizes: configuration.sizes)
        sizes = writing.queue.sizes
        reading = ReadState(
            limits: FrameReader.Limits(
                frame: configuration.maximumFrame, message: configuration.maximumMessage, window: configuration.window,
                carriesDescriptors: acceptsDescriptors))
        gated.peer = peer
        super.init()
        gated.readsWhole = !acceptsDescriptors && !learnsSpeaker && !link.mayReadShort
        if acceptsDescriptors { passDescriptors() } else { refuseDescriptors() }
        writing.sendsCredentials = credentialSource == .message
        reading.wantsCredentials = learnsSpeaker
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

    /// The peer's credentials: they come from the kernel on connected sockets, and with the first bytes on socketpairs;
    /// nil on pipes.
    package var peer: PeerCredentials? { isForked ? nil : gate.withLock { gated.peer } }

    override var isSocket: Bool { if case .socket = link { true } else { false } }

    override func memoryToPoll() -> RingPeek? {
        readsSharedMemory.load(ordering: .acquiring) ? sharedMemory?.peek() : nil
    }

    override var peerIsHere: Bool {
        readsSharedMemory.load(ordering: .acquiring) && sharedMemory?.peerIsHere ?? false
    }

    override func skipsPoll() -> Bool {
        guard pollsToSkip.load(ordering: .relaxed) > 0 else { return false }
        // Only the loop's leader counts down.
        pollsToSkip.wrappingSubtract(1, ordering: .relaxed)
        return true
    }

    override func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
        let receiver = bits & UInt32(PORT_READABLE) != 0 ? readAvailable(readContext, bits) : nil
        if bits & UInt32(PORT_WRITABLE) != 0 || isNotifiedOfRoom(bits) { flush(isWritable: true) }
        if bits & UInt32(PORT_HANG_UP) != 0 { noticeHangUp() }
        return receiver
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

    override func processEnded(_ process: PeerProcess) {
        gate.withLock { held in
            switch gated.peerProcess {
            case .speaker(let speaker) where speaker === process: speakerEnded(held)
            case .launcher(let launcher) where launcher === process: launcherEnded(held)
            case .none, .speaker, .launcher: break
            }
        }
    }

    override func keepsReservation() -> Bool { isStillReserved() }
}
