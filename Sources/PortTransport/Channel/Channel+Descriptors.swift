internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// Has the kernel refuse descriptors from the peer; the kernel lets them through only while the channel expects
    /// some.
    ///
    /// Bytes that are not read yet may already have come with descriptors. On a kernel that cannot refuse descriptors,
    /// any byte may. Each read of such bytes takes the descriptors, because otherwise the kernel closes them in the
    /// reading thread, and a peer can make that take long.
    ///
    /// The function is called with the read lock held, or before the channel is used.
    func refuseDescriptors() {
        guard let socket = link.inputSocket else { return }
        if !asksKernel {
            reading.foreignBytes = .max
            passDescriptors()
        } else if port_pass_descriptors(socket, false) >= 0 {
            let unread = port_unread(socket)
            reading.foreignBytes = unread < 0 ? .max : Int(unread)
        } else if errno != EOPNOTSUPP {
            reading.foreignBytes = .max
        }
    }

    /// Has the kernel let descriptors through.
    func passDescriptors() {
        guard let socket = link.inputSocket else { return }
        _ = port_pass_descriptors(socket, true)
    }

    func takeAncillary(
        _ ancillary: UnsafeMutablePointer<port_ancillary>, _ received: Int
    ) throws(TransportError) {
        takeSender(ancillary)
        let foreign = reading.foreignBytes
        if foreign > 0, foreign < .max { reading.foreignBytes = max(0, foreign - received) }
        if ancillary.pointee.truncated {
            // The process had no room for the descriptors of shared memory: the connection goes on without shared
            // memory.
            guard reading.arrival.lose() else {
                throw TransportError(.protocolViolation, "descriptors were lost: too many came at once")
            }
            Self.closeForeign(reading.takeDescriptors())
        }
        if ancillary.pointee.count > 0 {
            for number in ancillary.pointee.numbers { reading.descriptors.append(number) }
            // The bound is as many as two messages can bring: see `OutboundQueue.planFrames`.
            let bound =
                acceptsDescriptors
                ? 2 * Self.maximumDescriptors
                : reading.arrival != .notExpected ? SharedMemoryTransport.descriptorCount : 0
            guard reading.descriptors.count <= bound else {
                throw TransportError(.protocolViolation, "descriptors came that no frame claims")
            }
        }
    }

    func claim(_ count: UInt16, _ number: UInt64) throws(TransportError) -> [CInt] {
        if reading.arrival == .lost { return [] }
        guard reading.descriptors.count >= count else {
            throw TransportError(
                .protocolViolation, "a frame announces \(count) descriptors that did not come with it",
                context: ["frame \(number)"])
        }
        var claimed: [CInt] = []
        claimed.reserveCapacity(Int(count))
        for _ in 0..<count {
            if let descriptor = reading.descriptors.popFirst() { claimed.append(descriptor) }
        }
        return claimed
    }
}

extension port_ancillary {
    /// The descriptors that came.
    var numbers: [CInt] {
        withUnsafeBytes(of: descriptors) { Array($0.bindMemory(to: CInt.self).prefix(Int(count))) }
    }
}

/// Sends large messages through regions, once both directions go through shared memory.
///
/// A *region* is memory for the bytes of large messages, divided into *pieces*; see `Region`. The writer makes a region
/// and offers it on the socket beside the memory. Once the reader has answered, large messages go through the pieces of
/// the region. The writer releases a region that was idle for a time.
extension Channel {
    /// The time between two checks of whether a region was used.
    private static let regionPause = Duration.seconds(1)

    // MARK: Writing

    /// Where the next bytes of a large message go.
    func messageRoom(_ shared: SharedMemoryTransport?, _ held: borrowing Held<WriteState>) -> MessageRoom {
        guard let shared, let messages = writing.queue.large, messages.wantsPiece else { return .stream }
        return shared.messageRoom(most: writing.madeLarge().pacing.pieces)
    }

    /// The size of the piece that the next plan may fill; 0 if no piece is free, nil if there is no region.
    func pieceSize(_ room: MessageRoom, _ held: borrowing Held<WriteState>) -> Int? {
        switch room {
        case .stream: nil
        case .piece: writing.large?.pacing.pieceSize(sizes.value)
        case .none, .broken: 0
        }
    }

    /// Makes a region if enough bytes go through the ring to be worth it.
    ///
    /// The thread that writes calls this, without a lock.
    func offerRegion(_ shared: SharedMemoryTransport, _ written: Int) {
        guard written > 0,
            shared.streamed(written, regionAfter: sizes.value.streamedBeforeRegion, send: sendRegionByte)
        else { return }
        watchRegion()
    }

    private func sendRegionByte(_ byte: RegionByte, _ descriptor: CInt) -> Bool { send(byte, descriptor) == 1 }

    /// Sends a byte on the socket beside shared memory, with a descriptor unless the descriptor's number is negative.
    ///
    /// - Returns: 1, or minus an `errno`.
    private func send(_ byte: RegionByte, _ descriptor: CInt) -> Int {
        var byte = byte.rawValue
        return withUnsafeMutableBytes(of: &byte) { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
            return link.send(&vector, 1, descriptor < 0 ? [] : [descriptor], withCredentials: false)
        }
    }

    private func watchRegion() {
        let timer = loop.addTimer(after: Self.regionPause) { [self] in releaseIdleRegion() }
        let isClosed = queueLock.withLock {
            writing.madeLarge().regionTimer = timer
            return writing.output.isClosed
        }
        if isClosed { loop.cancelTimer(timer) }
    }

    private func releaseIdleRegion() {
        var held = queueLock.lock()
        writing.large?.regionTimer = nil
        guard !writing.output.isClosed, let shared = sharedMemory else { return queueLock.unlock(held) }
        // This thread acts as the writing thread. While another thread writes, the region is in use.
        let action = writing.output.beginFlush(isWritable: false, isBlocked: false, canWrite: true)
        var goesOn = true
        if case .write = action {
            goesOn = queueLock.unlocked(&held) { shared.releaseRegionIfIdle(send: sendRegionByte) }
            writing.output.endFlush()
            if writing.output.isClosed { return settleClosed(unlocking: held) }
        }
        queueLock.unlock(held)
        if goesOn { watchRegion() }
        // Frames that were enqueued meanwhile were left to this thread.
        flush(isWritable: true)
    }

    // MARK: Regions for blobs

    /// Whether a region for blobs may be offered now.
    package var mayOfferBlobs: Bool {
        guard !isForked else { return false }
        return queueLock.withLock {
            // The memory stays mapped while the output is open.
            writing.output.isOpen && writing.output.isShared && sharedMemory?.mayOffer == true
        }
    }

    /// Offers the peer a region for *blobs*, which are byte values that messages refer to, after the regions that were
    /// offered before.
    ///
    /// The channel owns the descriptor from now on. `flushBlobOffers` sends it. The peer gets every offer; if the
    /// descriptor cannot be sent, the offer comes without it.
    package func offerBlobRegion(_ descriptor: CInt) {
        let isOpen =
            !isForked
            && queueLock.withLock {
                guard writing.output.isOpen else { return false }
                writing.blobOffers.append(descriptor)
                return true
            }
        if !isOpen { port_close(descriptor) }
    }

    /// Sends the offers at once, so that the peer can take the regions while this side does other things.
    package func flushBlobOffers() { flush() }

    /// Sends the offers that wait; the thread that writes calls this.
    func sendBlobOffers(_ held: inout Held<WriteState>) {
        while let descriptor = writing.blobOffers.first, !writing.output.isClosed {
            let (isSent, isKept) = queueLock.unlocked(&held) { sendBlobOffer(descriptor) }
            // The peer has many offers left to read, so the other offers wait for the next flush.
            guard isSent else {
                if !isKept { writing.blobOffers[0] = -1 }
                return
            }
            writing.blobOffers.removeFirst()
        }
    }

    /// Sends one offer.
    ///
    /// - Returns: Whether the offer was sent, and if not, whether the descriptor is still open.
    private func sendBlobOffer(_ descriptor: CInt) -> (isSent: Bool, isKept: Bool) {
        var sent = send(.blob, descriptor)
        if sent == -Int(EAGAIN) || sent == -Int(EWOULDBLOCK) { return (false, descriptor >= 0) }
        if sent < 0, descriptor >= 0 {
            // The system refuses to send the descriptor. The peer has to count the offer all the same.
            sent = send(.blob, -1)
        }
        if descriptor >= 0 { port_close(descriptor) }
        return (sent != -Int(EAGAIN) && sent != -Int(EWOULDBLOCK), false)
    }

    // MARK: Reading

    /// Allows the peer to send regions from now on.
    ///
    /// The function is called under the read lock, when the input has moved to shared memory.
    func admitRegions() {
        // From here on any byte on the socket may come with a descriptor.
        passDescriptors()
        reading.foreignBytes = .max
        sharedMemory?.admitRegions()
    }

    /// Handles a byte from the socket beside shared memory.
    ///
    /// - Parameters:
    ///   - byte: The byte.
    ///   - descriptors: The descriptors that came with it.
    ///   - isLost: Whether descriptors were lost because the process had no room for them.
    func receiveRegionByte(_ byte: UInt8, _ descriptors: [CInt], isLost: Bool) throws(TransportError) {
        defer { Self.closeForeign(descriptors) }
        switch RegionByte(rawValue: byte) {
        case .blob:
            // The peer's system may refuse to send the descriptor. The offer counts all the same.
            guard isLost || descriptors.count <= 1 else {
                throw TransportError(.protocolViolation, "a region comes with one descriptor")
            }
            try reading.handler?.receive(blobRegion: isLost ? nil : descriptors.first)
        case .offer: try sharedMemory?.takeRegion(isLost ? nil : descriptors)
        case .release where descriptors.isEmpty && !isLost: try sharedMemory?.releaseRegion()
        default:
            throw TransportError(.protocolViolation, "bytes came beside the memory that was agreed on")
        }
    }

    /// Copies the next bytes of a large message out of the region.
    func readPiece() throws(TransportError) -> FrameReader.Event? {
        guard let sharedMemory, reading.input.isShared, let target = reading.reader.destination else {
            throw TransportError(.protocolViolation, "a piece of a region that does not exist")
        }
        try sharedMemory.readPiece(into: target)
        return reading.reader.filled(target.count)
    }
}

extension Channel.WriteState {
    /// Whether there is something to write.
    @inline(__always)
    var canWrite: Bool { mutating get { queue.canWrite || !blobOffers.isEmpty } }

    /// Removes the offers that were not sent, and returns their descriptors.
    mutating func takeBlobOffers() -> [CInt] {
        defer { blobOffers = [] }
        return blobOffers.filter { $0 >= 0 }
    }
}
