import PortTransport

/// What `SharedMemory` needs from outside.
protocol MemoryHost: AnyObject {
    /// The time in nanoseconds, by the clock of deadlines and timers.
    var now: UInt64 { get }
    /// Whether this side sends its `Hello` first.
    var isInitiator: Bool { get }
    /// Whether the peer is a process of the same user, so that both may share memory.
    var isPeerTrusted: Bool { get }
    /// Whether the channel has the shared memory that was made for the peer.
    var hasSharedMemory: Bool { get }
    /// Whether every byte of a frame may have reached the peer.
    func mayBeWritten(_ number: UInt64) -> Bool
    /// Makes the list of blobs that this process no longer uses.
    ///
    /// When a blob is added to the list, the list has this host settle the blob; see `SharedMemory.settleBlobs(_:_:)`.
    func makeBlobReturns() -> BlobReturns
}

/// The actions that transitions of shared memory leave to their caller.
///
/// Only `Action` conforms. The protocol spares `SharedMemory` the type of a conversation's host.
protocol MemoryWork {
    static func release(_ object: AnyObject) -> Self
    static var watchBlobs: Self { get }
}

/// The memory that both sides share: the switch of the channel to it, and the regions for byte values.
///
/// The host does the channel's part of the switch while it handles the frame that asks for that.
struct SharedMemory {
    var sharing: Sharing
    /// The blobs of both directions, which are byte values in shared regions; nil before the first blob.
    private(set) var blobs: BlobTable?

    /// The most bytes of the regions for byte values that this side makes.
    private let mostBlobBytes: Int

    init(isPossible: Bool, mostBlobBytes: Int) {
        sharing = Sharing(isPossible ? .possible : .never)
        self.mostBlobBytes = mostBlobBytes
    }

    // MARK: The switch

    /// Whether messages in both directions go through shared memory.
    var isUsed: Bool { sharing.phase == .done }
    /// Whether this side or the channel cannot share memory, or a side has declined to.
    var isImpossible: Bool { sharing.phase == .never }

    mutating func giveUp() { sharing.phase = .never }

    /// Notes that large content was sent or has come, which is reason enough to share memory.
    ///
    /// Only the initiator can ask, so it does so also for what the other side sends.
    mutating func largeContent(isInitiator: Bool) {
        if sharing.phase == .possible, isInitiator { sharing.want() }
    }

    /// Whether this side, the initiator, asks for shared memory now: the last batch of messages came fast enough.
    ///
    /// - Parameter frames: The number of frames of both directions.
    @inline(__always)
    mutating func isWanted(
        _ traffic: BusyTraffic?, frames: UInt64, isOpen: Bool, _ grants: PeerGrants, _ host: some MemoryHost
    ) -> Bool {
        guard sharing.phase == .possible, let traffic, sharing.hasBatch(frames, of: traffic.frames) else {
            return false
        }
        return isOpen && isBusy(traffic, frames, grants, host)
    }

    @inline(never)
    private mutating func isBusy(
        _ traffic: BusyTraffic, _ frames: UInt64, _ grants: PeerGrants, _ host: some MemoryHost
    ) -> Bool {
        guard grants.features.contains(.sharedMemory), host.isPeerTrusted else {
            sharing.phase = .never
            return false
        }
        return sharing.isBusy(frames: frames, now: host.now, within: traffic.nanoseconds)
    }

    /// Asks the peer for memory.
    ///
    /// The channel must be ready to receive descriptors.
    mutating func ask(_ outbox: inout Outbox) {
        sharing.phase = .asked
        outbox.write(ShareFrame(.ask))
    }

    /// Enters a step of the switch, or one about the regions for byte values.
    mutating func receive(
        _ frame: ShareFrame, _ grants: PeerGrants, _ outbox: inout Outbox, _ host: some MemoryHost,
        _ work: inout [some MemoryWork]
    ) throws(ProtocolViolation) -> DeliveryStep {
        let step = frame.step
        if step.isOfBlobs {
            try receiveBlobs(frame, host, &work)
            return .none
        }
        guard sharing.phase != .never, grants.features.contains(.sharedMemory) else {
            throw ProtocolViolation(.unknownName, "a Share needs a feature that was not agreed on")
        }
        switch (step, host.isInitiator, sharing.phase) {
        case (.ask, false, .possible):
            // A *doorbell* is the descriptor with which one side wakes the other. While this side rings the peer's
            // doorbell, the peer can keep this side's thread in a system call that does not end. A process of the same
            // user could stop this process anyway.
            if host.isPeerTrusted, !outbox.isClosed { return .makeMemory }
            wasMade(nil, &outbox)
            return .none
        case (.give, true, .asked):
            return .takeMemory
        case (.move, true, .agreed):
            sharing.phase = .done
            return .moveInput
        case (.move, false, .agreed) where host.hasSharedMemory:
            sharing.phase = .done
            writeMove(&outbox)
            return .moveInput
        case (.decline, false, .agreed):
            sharing.phase = .never
            return .dropMemory
        default:
            throw ProtocolViolation(.outOfStep, "a Share says \(step) out of step")
        }
    }

    /// Sends the peer the descriptors of shared memory, or that there is none.
    ///
    /// - Parameter descriptors: The peer's descriptors, which the channel owns from now on; nil if no memory could be made.
    mutating func wasMade(_ descriptors: [CInt]?, _ outbox: inout Outbox) {
        sharing.phase = descriptors == nil ? .never : .agreed
        outbox.write(.share, flags: ShareStep.give.rawValue, descriptors: descriptors ?? [])
    }

    /// Goes on after this side has opened the memory that the peer made, or could not open it.
    mutating func wasTaken(_ outcome: MemoryOutcome, _ grants: PeerGrants, _ outbox: inout Outbox) {
        switch outcome {
        case .taken:
            sharing.phase = .agreed
            writeMove(&outbox)
        case .none(let isOffered):
            sharing.phase = .never
            // Opening can fail, for example if this process has no descriptors left. The peer can then free the memory.
            guard isOffered, grants.features.contains(.decline) else { return }
            outbox.write(ShareFrame(.decline))
        }
    }

    /// Writes the last frame on the socket.
    private func writeMove(_ outbox: inout Outbox) {
        outbox.finish(.share, flags: ShareStep.move.rawValue, .lastOnSocket)
    }
}

// Blobs, in both directions. See “Blobs” in WireFeatures.md.
extension SharedMemory {
    func knowsBlobs(_ grants: PeerGrants) -> Bool { sharing.phase == .done && grants.features.contains(.blobs) }

    private mutating func blobTable(_ host: some MemoryHost) -> BlobTable {
        if let blobs { return blobs }
        let made = BlobTable(host.makeBlobReturns(), most: mostBlobBytes)
        blobs = made
        return made
    }

    // MARK: Making

    /// Finds room for a blob of this side.
    ///
    /// - Parameter isCopy: Whether the bytes exist already. Then nothing is gained while the peer has not taken a region.
    mutating func takeBlob(
        _ count: Int, isCopy: Bool, _ grants: PeerGrants, _ outbox: inout Outbox, _ host: some MemoryHost,
        _ work: inout [some MemoryWork]
    ) -> BlobPlace {
        let most = grants.features.contains(.largeBlobs) ? mostBlobBytes : min(mostBlobBytes, RegionMemory.most)
        guard let size = BlobTable.size(for: count, atMost: most) else { return .memory }
        largeContent(isInitiator: host.isInitiator)
        guard knowsBlobs(grants) else { return .memory }
        let table = blobTable(host)
        settleHandles(&work)
        if let region = table.free(for: count) { return .region(MadeBlob(region, table.returns)) }
        if isCopy, table.hasUnanswered { return .memory }
        guard table.mayOffer(size, at: host.now), table.mayHaveRoom(for: size) else { return .memory }
        while !table.hasRoom(for: size), let idle = table.idle {
            table.remove(idle)
            release(idle, &outbox, &work)
        }
        table.reserve(size)
        return .fresh(size)
    }

    /// Gives up the reserved size of a region that could not be made.
    func blobWasNotMade(_ size: Int) { blobs?.giveUp(size) }

    /// Enters a region whose size was reserved.
    ///
    /// The caller offers the region to the peer before it releases the lock.
    func offerBlob(_ memory: RegionMemory, _ host: some MemoryHost) -> MadeBlob {
        // After the end of the connection the region is used as plain memory.
        guard let blobs else { return MadeBlob(MadeRegion(.max, memory), host.makeBlobReturns()) }
        return MadeBlob(blobs.offer(memory), blobs.returns)
    }

    private func release(_ region: MadeRegion, _ outbox: inout Outbox, _ work: inout [some MemoryWork]) {
        outbox.write(ShareFrame(.release, region: region.number))
        work.append(.release(region))
    }

    /// Settles this side's blobs that nothing in this process holds any longer: they no longer keep their regions.
    private func settleHandles(_ work: inout [some MemoryWork]) {
        blobs?.settleHandles()
        watchBlobs(&work)
    }

    private func watchBlobs(_ work: inout [some MemoryWork]) {
        guard let blobs, !blobs.isWatched, blobs.hasFree else { return }
        blobs.isWatched = true
        work.append(.watchBlobs)
    }

    /// Releases the regions that were not used since the last call.
    func releaseIdleBlobs(_ outbox: inout Outbox, _ work: inout [some MemoryWork]) {
        guard let blobs else { return }
        for region in blobs.removeIdle() { release(region, &outbox, &work) }
        blobs.isWatched = false
        watchBlobs(&work)
    }

    // MARK: Messages

    /// Whether a message may mention the bytes instead of carrying them.
    func mayMention(_ bytes: SharedBytes) -> Bool {
        guard let blobs else { return false }
        return switch bytes.memory {
        case .data, .array, .file, .block: false
        case .made(let blob): blob.region.isTaken && blobs.made[blob.region.number] === blob.region
        case .taken(let blob): blobs.taken[blob.region.number] === blob.region
        }
    }

    /// The entry for an object that stands for bytes of a region; nil if the object stands for none.
    func reference(to object: AnyObject) -> Reference? {
        guard let bytes = (object as? SharedBlob)?.bytes else { return nil }
        let (offset, count) = (UInt64(bytes.range.lowerBound), UInt64(bytes.count))
        guard mayMention(bytes) else { return DeadStream.used.reference }
        switch bytes.memory {
        case .data, .array, .file, .block: return DeadStream.used.reference
        case .made(let blob):
            blob.region.mentions += 1
            return .bytes(region: blob.region.number, offset: offset, count: count)
        case .taken(let blob): return .returnedBytes(region: blob.region.number, offset: offset, count: count)
        }
    }

    /// The regions that a table of references may name.
    func namedBlobs() throws(ProtocolViolation) -> BlobTable {
        guard let blobs else {
            throw ProtocolViolation(.unknownName, "a message mentions a region that was not taken")
        }
        return blobs
    }

    /// Gives the mentions of blobs that this process no longer uses back to the peer.
    @inline(__always)
    func giveBackBlobs(_ outbox: inout Outbox) {
        if let blobs, blobs.returns.owesMentions { writeGivenBack(of: blobs, &outbox) }
    }

    @inline(never)
    private func writeGivenBack(of blobs: BlobTable, _ outbox: inout Outbox) {
        for (number, count) in blobs.giveBack() {
            outbox.write(ShareFrame(.giveBack, region: number, mentions: UInt64(count)))
        }
    }

    /// Settles all blobs that this process no longer uses, those of the peer and those of this side.
    func settleBlobs(_ outbox: inout Outbox, _ work: inout [some MemoryWork]) {
        giveBackBlobs(&outbox)
        if let blobs, blobs.returns.owesHandles { settleHandles(&work) }
    }

    // MARK: Frames

    private mutating func receiveBlobs(
        _ frame: ShareFrame, _ host: some MemoryHost, _ work: inout [some MemoryWork]
    ) throws(ProtocolViolation) {
        let table = blobTable(host)
        switch frame.step {
        case .ask, .give, .move, .decline: break
        case .take: try table.answered(frame.region)?.isTaken = true
        case .refuse:
            guard let region = try table.answered(frame.region) else { break }
            table.remove(region)
            table.pauseOffers(from: region.size, at: host.now)
            work.append(.release(region))
        case .giveBack: try table.givenBack(frame.region, frame.mentions)
        case .release: work.append(.release(try table.released(frame.region)))
        }
        watchBlobs(&work)
    }

    /// Enters the offer of a region.
    ///
    /// - Returns: The most bytes that the region may have to be taken.
    mutating func blobWasOffered(_ grants: PeerGrants, _ host: some MemoryHost) throws(ProtocolViolation) -> Int {
        guard knowsBlobs(grants) else {
            throw ProtocolViolation(.malformed, "bytes came beside the memory that was agreed on")
        }
        return try blobTable(host).offered { host.mayBeWritten($0) }
    }

    /// Answers the offer of a region.
    ///
    /// - Parameter memory: The region; nil if this side does not take it.
    func answerBlob(_ memory: RegionMemory?, _ outbox: inout Outbox) {
        guard let blobs, !outbox.isClosed else { return }
        let number = blobs.answer(memory, in: outbox.written + 1)
        outbox.write(ShareFrame(memory == nil ? .refuse : .take, region: number))
    }

    // MARK: The end

    /// Forgets all regions.
    mutating func removeAll() -> [AnyObject] {
        defer { blobs = nil }
        return blobs?.removeAll() ?? []
    }
}
