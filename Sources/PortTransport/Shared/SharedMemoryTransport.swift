internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One end of two rings of bytes in memory shared with the peer, one for each direction, with their doorbells.
///
/// A doorbell means: check both rings. It is rung only for a side that has asked for it, which is the one system call
/// of a message, and its listener never empties it. The end of the peer does not show here, but on the socket beside
/// the memory.
final class SharedMemoryTransport: @unchecked Sendable {
    // The thread that writes uses the writers; the thread that reads uses the readers and `knowsEnd`. The rest does not
    // change until `close`.
    @exclusivity(unchecked) private var writer: RingWriter
    @exclusivity(unchecked) private var reader: RingReader
    @exclusivity(unchecked) private var regionWriter: RegionWriter
    @exclusivity(unchecked) private var regionReader: RegionReader
    @exclusivity(unchecked) private var knowsEnd = false
    /// The doorbell that the peer rings; polled edge-triggered.
    let doorbell: CInt
    private let peerDoorbell: CInt
    private let peersAnswerWord: UnsafeMutablePointer<Atomic<UInt32>>
    private let answerWord: UnsafeMutablePointer<Atomic<UInt32>>
    let memory: UnsafeMutableRawPointer
    private let tellsProcessor: Bool
    /// The number of users: the channel, and threads that poll.
    private let users = Atomic<Int>(1)
    /// The peer was asked to notify this side of room.
    let awaitsRoom = Atomic<Bool>(false)
    /// The peer writes nothing more: the ring holds the rest of its output.
    let isPeerFinished = Atomic<Bool>(false)

    /// The size of each ring in bytes: two of the portions that one read takes.
    static let capacity = 128 << 10
    /// The bytes before the rings.
    private static let headerSize = 4_096
    private static let size = headerSize + 2 * capacity
    /// Memory, the doorbell its maker hears, the doorbell its taker hears.
    static let descriptorCount = 3

    /// The most that a process has at a time, with a share for each peer: beyond that, the memory costs more than the time
    /// it saves.
    private static let quota = PeerQuota(512)

    /// Counts another transport; false if the peer has too many, or uses too many descriptors.
    private static func reserve(for peer: PeerIdentity) -> Bool {
        guard quota.reserve(1, for: peer) else { return false }
        if PeerDescriptors.shared.reserve(PeerDescriptors.ofSharedMemory, for: peer) { return true }
        quota.giveBack(1, for: peer)
        return false
    }

    private static func giveBack(for peer: PeerIdentity) {
        quota.giveBack(1, for: peer)
        PeerDescriptors.shared.giveBack(PeerDescriptors.ofSharedMemory, for: peer)
    }

    private let peer: PeerIdentity

    private init(
        _ memory: UnsafeMutableRawPointer, isMaker: Bool, tellsProcessor: Bool, peer: PeerIdentity, doorbell: CInt,
        peerDoorbell: CInt
    ) {
        self.peer = peer
        self.memory = memory
        self.tellsProcessor = tellsProcessor
        self.doorbell = doorbell
        self.peerDoorbell = peerDoorbell
        let toMaker = SharedCounters(at: memory)
        let toTaker = SharedCounters(at: memory + SharedCounters.size)
        let first = memory + Self.headerSize
        let second = first + Self.capacity
        writer = RingWriter(
            isMaker ? toTaker : toMaker, isMaker ? second : first, capacity: Self.capacity,
            tellsProcessor: tellsProcessor)
        reader = RingReader(isMaker ? toMaker : toTaker, isMaker ? first : second, capacity: Self.capacity)
        let regionsToMaker = RegionWords(at: memory + RegionWords.offset)
        let regionsToTaker = RegionWords(at: memory + RegionWords.offset + RegionWords.size)
        regionWriter = RegionWriter(isMaker ? regionsToTaker : regionsToMaker, for: peer)
        regionReader = RegionReader(isMaker ? regionsToMaker : regionsToTaker, from: peer)
        peersAnswerWord = (isMaker ? toTaker : toMaker).answerWaits
        answerWord = (isMaker ? toMaker : toTaker).answerWaits
    }

    /// Makes a transport.
    ///
    /// Returns it and the descriptors for the peer, which the caller closes; nil if the system has no such memory or no
    /// descriptor left, or the peer has its share.
    /// - Parameters:
    ///   - tellsProcessor: Whether each side tells the other on which processor it runs.
    ///   - peer: The peer, whose share it counts against.
    static func make(tellsProcessor: Bool, for peer: PeerIdentity) -> (
        path: SharedMemoryTransport, descriptors: [CInt]
    )? {
        guard reserve(for: peer) else { return nil }
        if let made = open(tellsProcessor, peer) { return made }
        giveBack(for: peer)
        return nil
    }

    private static func open(_ tellsProcessor: Bool, _ peer: PeerIdentity) -> (
        path: SharedMemoryTransport, descriptors: [CInt]
    )? {
        let descriptor = port_memory_make(size)
        guard descriptor >= 0 else { return nil }
        guard let memory = port_memory_map(descriptor, size) else {
            port_close(descriptor)
            return nil
        }
        var ours: (own: CInt, given: CInt) = (-1, -1)
        var theirs: (own: CInt, given: CInt) = (-1, -1)
        guard port_doorbell_make(&ours.own, &ours.given) >= 0, port_doorbell_make(&theirs.own, &theirs.given) >= 0
        else {
            for opened in [descriptor, ours.own, ours.given] where opened >= 0 { port_close(opened) }
            port_memory_unmap(memory, size)
            return nil
        }
        let path = SharedMemoryTransport(
            memory, isMaker: true, tellsProcessor: tellsProcessor, peer: peer,
            doorbell: ours.own, peerDoorbell: theirs.own)
        return (path, [descriptor, ours.given, theirs.given])
    }

    /// Takes a transport that the peer has made, from its descriptors, which the caller closes.
    ///
    /// Nil if this process cannot open it, or the peer has its share.
    /// - Throws: `protocolViolation` if the descriptors are not those of a transport.
    static func take(
        _ descriptors: [CInt], tellsProcessor: Bool, from peer: PeerIdentity
    ) throws(TransportError) -> SharedMemoryTransport? {
        guard descriptors.count == descriptorCount else {
            throw TransportError(.protocolViolation, "shared memory comes with \(descriptorCount) descriptors")
        }
        guard reserve(for: peer) else { return nil }
        var path: SharedMemoryTransport?
        defer { if path == nil { giveBack(for: peer) } }
        path = try open(descriptors, tellsProcessor, peer)
        return path
    }

    private static func open(_ descriptors: [CInt], _ tellsProcessor: Bool, _ peer: PeerIdentity) throws(TransportError)
        -> SharedMemoryTransport?
    {
        guard let memory = port_memory_map(descriptors[0], size) else {
            guard errno != EINVAL else {
                throw TransportError(.protocolViolation, "the memory to share is not sealed, or of another size")
            }
            return nil
        }
        var doorbells: [CInt] = []
        for descriptor in descriptors[1...] {
            let opened = port_doorbell_open(descriptor)
            if opened >= 0 {
                doorbells.append(opened)
                continue
            }
            let number = errno
            for doorbell in doorbells { port_close(doorbell) }
            port_memory_unmap(memory, size)
            guard number != EINVAL else { throw TransportError(.protocolViolation, "a doorbell is not a pipe") }
            return nil
        }
        return SharedMemoryTransport(
            memory, isMaker: false, tellsProcessor: tellsProcessor, peer: peer,
            doorbell: doorbells[1], peerDoorbell: doorbells[0])
    }

    /// Writes; called by the one thread that writes.
    ///
    /// See `RingWriter.write`.
    func write(_ vectors: UnsafePointer<iovec>, _ count: Int, bound: Int, content: RingContent) -> Int {
        if awaitsRoom.load(ordering: .relaxed) { awaitsRoom.store(false, ordering: .relaxed) }
        return writer.write(vectors, count, bound: bound, content: content) {
            awaitsRoom.store(true, ordering: .relaxed)
        } wake: {
            switch $0 {
            case .answerThread: port_word_wake(peersAnswerWord)
            case .doorbell: port_doorbell_ring(peerDoorbell)
            }
        }
    }

    /// Reads; called by the one thread that reads.
    ///
    /// See `RingReader.read`.
    ///
    /// Returns 0 once the peer is finished and everything was read.
    func read(_ vectors: UnsafePointer<iovec>, _ count: Int, requestsDoorbell: Bool) -> Int {
        // Loaded before the ring is read: everything that the peer wrote before it finished is in the ring by then.
        let isLast = isPeerFinished.load(ordering: .acquiring)
        if isLast, !knowsEnd {
            knowsEnd = true
            reader.finish()
        }
        regionReader.beginRead()
        let received = reader.read(vectors, count, requestsDoorbell: requestsDoorbell) {
            port_doorbell_ring(peerDoorbell)
        }
        return received == -Int(EAGAIN) && isLast ? 0 : received
    }

    /// Whether the last read emptied the ring, and the doorbell will ring for new bytes.
    ///
    /// False once the end is known: no doorbell rings for the end.
    var isDrained: Bool { reader.isDrained && !knowsEnd }

    /// A blocking reader reads beside the loop from now on.
    ///
    /// It checks for input before it waits.
    func beginAwaiting() { reader.beginAwaiting() }

    /// Whether a read would find something; if not, `awaitAnswer` waits for it.
    ///
    /// Called by the blocking reader.
    func hasInputOrAwaitsAnswer() -> Bool {
        reader.hasInputOrAwaitsAnswer() || isPeerFinished.load(ordering: .acquiring)
    }

    /// Ends the reading of the blocking reader.
    ///
    /// Returns whether there is input of which no thread was notified.
    func hasInputAfterAwaiting() -> Bool {
        reader.hasInputAfterAwaiting() || isPeerFinished.load(ordering: .acquiring)
    }

    /// The longest sleep on a word of the memory, in nanoseconds.
    ///
    /// The peer can move a sleeper to another word (FUTEX_REQUEUE), where only this time limit wakes it.
    static let longestSleep: Int64 = 50_000_000

    /// Waits for an answer, or for `endWait`, after `hasInputOrAwaitsAnswer`.
    ///
    /// The wait may end without a reason, so the caller checks everything that it waits for.
    /// - Parameters:
    ///   - nanoseconds: The time limit of the caller; negative for none.
    ///   - longest: The longest wait in any case; tests choose another one.
    func awaitAnswer(_ nanoseconds: Int64, atMost longest: Int64 = longestSleep) {
        port_word_wait(answerWord, AnswerThread.sleeps, nanoseconds < 0 ? longest : min(nanoseconds, longest))
        reader.beginAwaiting()
    }

    /// Ends the current wait for an answer, or else the next one.
    func endWait() {
        // The thread sees either the reason why it is woken, or the change of the word.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        answerWord.pointee.store(AnswerThread.none, ordering: .relaxed)
        port_word_wake(answerWord)
    }

    // MARK: Polling

    /// A view of the peer's counter for a thread that polls, which calls `letGo` on it afterwards.
    ///
    /// Call it while the memory is in use.
    func peek() -> RingPeek {
        users.wrappingAdd(1, ordering: .relaxed)
        return RingPeek(reader.peek, of: self)
    }

    /// Whether the peer ran last on the processor of the calling thread, where it cannot run while this thread polls.
    var peerIsHere: Bool { tellsProcessor && reader.writerIsHere }

    /// The same view for a thread that keeps the memory mapped in another way while it looks.
    var look: RingReader.Peek { reader.peek }

    // MARK: Regions

    /// Called by the one thread that writes; see `RegionWriter`.
    func messageRoom(most: Int) -> MessageRoom {
        regionWriter.room(most: most) { awaitsRoom.store(true, ordering: .relaxed) }
    }

    /// Whether a byte about a region may be sent on the socket.
    var mayOffer: Bool { regionWriter.mayOffer }

    func pieceIsFilled() { regionWriter.filled() }

    func streamed(_ count: Int, regionAfter least: Int, send: (RegionByte, CInt) -> Bool) -> Bool {
        regionWriter.streamed(count, regionAfter: least, send: send)
    }

    func releaseRegionIfIdle(send: (RegionByte, CInt) -> Bool) -> Bool { regionWriter.releaseIfIdle(send: send) }

    /// Called by the one thread that reads; see `RegionReader`.
    func admitRegions() { regionReader.admit() }

    func takeRegion(_ descriptors: [CInt]?) throws(TransportError) { try regionReader.take(descriptors) }

    func releaseRegion() throws(TransportError) { try regionReader.release() }

    func readPiece(into target: UnsafeMutableRawBufferPointer) throws(TransportError) {
        try regionReader.read(into: target) { port_doorbell_ring(peerDoorbell) }
    }

    /// Gives the memory back when neither direction uses it any more.
    func close() {
        regionWriter.drop()
        regionReader.drop()
        port_close(doorbell)
        port_close(peerDoorbell)
        leave()
    }

    /// The last user gives the memory back.
    fileprivate func leave() {
        guard users.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        port_memory_unmap(memory, Self.size)
        Self.giveBack(for: peer)
    }
}

/// A channel's memory as a polling thread uses it: without the locks of the channel, and mapped until `letGo`.
struct RingPeek {
    private let state: RingReader.Peek
    private let memory: Unmanaged<SharedMemoryTransport>

    fileprivate init(_ state: RingReader.Peek, of memory: SharedMemoryTransport) {
        self.state = state
        self.memory = .passRetained(memory)
    }

    /// Whether a read may find something new.
    @inline(__always)
    var hasChanged: Bool { state.hasChanged }

    func letGo() {
        memory._withUnsafeGuaranteedRef { $0.leave() }
        memory.release()
    }
}
