internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// How large messages go through regions, once both directions go through shared memory.
///
/// The writer makes a region and offers it, on the socket beside the memory. From the reader's answer on, large messages
/// go through its pieces. The writer releases it when it was idle for a time.
extension Channel {
    /// Between two looks whether a region was used.
    private static let regionPause = Duration.seconds(1)

    // MARK: Writing

    /// Where the next bytes of a large message go.
    func messageRoom(_ shared: SharedMemoryTransport?, _ held: borrowing Held<WriteState>) -> MessageRoom {
        guard let shared, writing.pointee.queue.wantsPiece else { return .stream }
        return shared.messageRoom(most: writing.pointee.pacing.pieces)
    }

    /// What a plan has to know of that.
    func pieceSize(_ room: MessageRoom, _ held: borrowing Held<WriteState>) -> Int? {
        switch room {
        case .stream: nil
        case .piece: writing.pointee.pacing.pieceSize
        case .none, .broken: 0
        }
    }

    /// Makes a region if so much goes through the ring that it is worth that.
    ///
    /// To be called by the thread that writes, without a lock.
    func offerRegion(_ shared: SharedMemoryTransport, _ written: Int) {
        guard written > 0, shared.streamed(written, send: sendRegionByte) else { return }
        watchRegion()
    }

    private func sendRegionByte(_ byte: RegionByte, _ descriptor: CInt) -> Bool {
        var byte = byte.rawValue
        return withUnsafeMutableBytes(of: &byte) { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
            return link.send(&vector, 1, descriptor < 0 ? [] : [descriptor], withCredentials: false) == 1
        }
    }

    private func watchRegion() {
        let timer = loop.addTimer(after: Self.regionPause) { [self] in releaseIdleRegion() }
        let isClosed = queueLock.withLock {
            writing.pointee.regionTimer = timer
            return writing.pointee.output.isClosed
        }
        if isClosed { loop.cancelTimer(timer) }
    }

    private func releaseIdleRegion() {
        var held = queueLock.lock()
        writing.pointee.regionTimer = nil
        guard !writing.pointee.output.isClosed, let shared = sharedMemory else { return queueLock.unlock(held) }
        // As the thread that writes. While another one is, the region is used.
        let action = writing.pointee.output.beginFlush(isWritable: false, isBlocked: false, canWrite: true)
        var goesOn = true
        if case .write = action {
            goesOn = queueLock.unlocked(&held) { shared.releaseRegionIfIdle(send: sendRegionByte) }
            writing.pointee.output.endFlush()
            if writing.pointee.output.isClosed { return settleClosedAndUnlock(held) }
        }
        queueLock.unlock(held)
        if goesOn { watchRegion() }
        // What was enqueued meanwhile was left to this thread.
        flush(isWritable: true)
    }

    // MARK: Reading

    /// Has the peer send regions, from now on.
    ///
    /// Called under the read lock, when the input has moved to shared memory.
    func admitRegions() {
        // From here on any byte on the socket may come with one.
        passDescriptors()
        reading.pointee.foreignBytes = .max
        sharedMemory?.admitRegions()
    }

    /// What a byte on the socket beside shared memory says.
    ///
    /// - Parameter isLost: Whether there was no room for its descriptors.
    func receiveRegionByte(_ byte: UInt8, _ descriptors: [CInt], isLost: Bool) throws(TransportError) {
        defer { Self.closeForeign(descriptors) }
        switch RegionByte(rawValue: byte) {
        case .offer: try sharedMemory?.takeRegion(isLost ? nil : descriptors)
        case .release where descriptors.isEmpty && !isLost: sharedMemory?.releaseRegion()
        default:
            throw TransportError(.protocolViolation, "bytes came beside the memory that was agreed on")
        }
    }

    /// Copies the next bytes of a large message out of the region.
    func readPiece() throws(TransportError) -> FrameReader.Event? {
        guard let sharedMemory, reading.pointee.input.isShared, let target = reading.pointee.reader.destination else {
            throw TransportError(.protocolViolation, "a piece of a region that does not exist")
        }
        try sharedMemory.readPiece(into: target)
        return reading.pointee.reader.filled(target.count)
    }
}
