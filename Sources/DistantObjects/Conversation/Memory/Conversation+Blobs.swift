import KeyedArchive
import PortTransport

/// The place for the bytes of a new blob.
///
/// A *blob* is a byte value in a *region*: memory that one side has made and both sides have mapped. A message
/// *mentions* the blob in its table of references instead of carrying the bytes.
enum BlobPlace {
    /// A free region, which the peer knows or was offered.
    case region(MadeBlob)
    /// A region of this size, which the caller has to make. The table has reserved the size.
    case fresh(Int)
    /// Memory of this process.
    case memory
}

// Blobs, in both directions. See “Blobs” in WireFeatures.md.
extension Conversation {
    var knowsBlobs: Bool {
        sharing.phase == .done && handshake.grants.features.contains(.blobs)
    }

    private mutating func blobTable(_ host: Host) -> BlobTable {
        if let blobs { return blobs }
        let made = BlobTable(host.makeBlobReturns())
        blobs = made
        return made
    }

    // MARK: Making

    /// Finds room for a blob of this side.
    mutating func takeBlob(_ count: Int, _ host: Host, _ actions: inout [Action<Host>]) -> BlobPlace {
        guard isOpen, let size = BlobTable.size(for: count) else { return .memory }
        // Blobs are reason enough to share memory, even if there are few.
        if sharing.phase == .possible, host.isInitiator { sharing.want() }
        guard knowsBlobs else { return .memory }
        let table = blobTable(host)
        settleHandles(&actions)
        if let region = table.free(for: count) { return .region(MadeBlob(region, table.returns)) }
        guard table.mayOffer(at: host.now), table.mayHaveRoom(for: size) else { return .memory }
        while !table.hasRoom(for: size), let idle = table.idle {
            table.remove(idle)
            release(idle, &actions)
        }
        table.reserve(size)
        return .fresh(size)
    }

    /// Gives up the reserved size of a region that could not be made.
    mutating func blobWasNotMade(_ size: Int) { blobs?.giveUp(size) }

    /// Enters a region whose size was reserved.
    ///
    /// The caller offers the region to the peer before it releases the lock.
    mutating func offerBlob(_ memory: RegionMemory, _ host: Host) -> MadeBlob {
        // After the end of the connection the region is used as plain memory.
        guard let blobs else { return MadeBlob(MadeRegion(.max, memory), host.makeBlobReturns()) }
        return MadeBlob(blobs.offer(memory), blobs.returns)
    }

    private mutating func release(_ region: MadeRegion, _ actions: inout [Action<Host>]) {
        outbox.write(ShareFrame(.release, region: region.number))
        actions.append(.release(region))
    }

    /// Settles this side's blobs that nothing in this process holds any longer: they no longer keep their regions.
    private mutating func settleHandles(_ actions: inout [Action<Host>]) {
        blobs?.settleHandles()
        watchBlobs(&actions)
    }

    private mutating func watchBlobs(_ actions: inout [Action<Host>]) {
        guard let blobs, !blobs.isWatched, blobs.hasFree else { return }
        blobs.isWatched = true
        actions.append(.watchBlobs)
    }

    /// Releases the regions that were not used since the last call.
    mutating func releaseIdleBlobs(_ actions: inout [Action<Host>]) {
        guard phase != .ended, let blobs else { return }
        for region in blobs.removeIdle() { release(region, &actions) }
        blobs.isWatched = false
        watchBlobs(&actions)
    }

    // MARK: Messages

    /// Whether a message may mention the bytes instead of carrying them.
    mutating func mayMention(_ bytes: SharedBytes) -> Bool {
        guard let blobs else { return false }
        return switch bytes.memory {
        case .data, .block: false
        case .made(let blob): blob.region.isTaken && blobs.made[blob.region.number] === blob.region
        case .taken(let blob): blobs.taken[blob.region.number] === blob.region
        }
    }

    /// The entry for an object that stands for bytes of a region; nil if the object stands for none.
    mutating func blobReference(to object: AnyObject) -> Reference? {
        guard let bytes = (object as? SharedBlob)?.bytes else { return nil }
        let (offset, count) = (UInt64(bytes.range.lowerBound), UInt64(bytes.count))
        guard mayMention(bytes) else { return DeadStream.used.reference }
        switch bytes.memory {
        case .data, .block: return DeadStream.used.reference
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
    mutating func giveBackBlobs() {
        if let blobs, blobs.returns.owesMentions { writeGivenBack() }
    }

    @inline(never)
    private mutating func writeGivenBack() {
        guard let blobs else { return }
        for (number, count) in blobs.giveBack() {
            outbox.write(ShareFrame(.giveBack, region: number, mentions: UInt64(count)))
        }
    }

    /// Settles all blobs that this process no longer uses, those of the peer and those of this side.
    mutating func settleBlobs(_ actions: inout [Action<Host>]) {
        giveBackBlobs()
        if let blobs, blobs.returns.owesHandles, phase != .ended { settleHandles(&actions) }
    }

    // MARK: Frames

    mutating func receiveBlobs(
        _ frame: ShareFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let table = blobTable(host)
        switch frame.step {
        case .ask, .give, .move, .decline: break
        case .take: try table.answered(frame.region)?.isTaken = true
        case .refuse:
            guard let region = try table.answered(frame.region) else { break }
            table.remove(region)
            table.pauseOffers(at: host.now)
            actions.append(.release(region))
        case .giveBack: try table.givenBack(frame.region, frame.mentions)
        case .release: actions.append(.release(try table.released(frame.region)))
        }
        watchBlobs(&actions)
    }

    /// Enters the offer of a region.
    ///
    /// - Returns: The most bytes that the region may have to be taken.
    mutating func blobWasOffered(_ host: Host) throws(ProtocolViolation) -> Int {
        guard knowsBlobs else {
            throw ProtocolViolation(.malformed, "bytes came beside the memory that was agreed on")
        }
        return try blobTable(host).offered { host.mayBeWritten($0) }
    }

    /// Answers the offer of a region.
    ///
    /// - Parameter memory: The region; nil if this side does not take it.
    mutating func answerBlob(_ memory: RegionMemory?) {
        guard let blobs, !outbox.isClosed else { return }
        let number = blobs.answer(memory, in: sent + 1)
        outbox.write(ShareFrame(memory == nil ? .refuse : .take, region: number))
    }
}
