internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Moves a channel over a socket to memory shared with its peer.
///
/// The layer above agrees on the move, with its own frames. Each direction moves by itself, between two frames: the
/// output after the frame that `enqueueLast` adds, the input after the frame during whose delivery `moveInput` is
/// called. From then on the poller watches a *doorbell* in place of the socket: a descriptor with which the
/// peer wakes this side. The socket stays open and shows the end.
extension Channel {
    /// Whether this end can share memory with a peer.
    package var canShare: Bool {
        guard case .socket(let descriptor) = link else { return false }
        return !acceptsDescriptors && eventLoop != nil && port_shares_memory(descriptor)
    }

    /// Gets ready for the descriptors of memory that the peer has made and is about to send.
    ///
    /// Call it while a frame is delivered.
    package func expectSharedMemory() {
        passDescriptors()
        reading.arrival.expect()
        reading.reader.carriesDescriptors = true
    }

    /// Stops expecting descriptors, because the peer has sent them or will not send them.
    ///
    /// Call it while a frame is delivered.
    /// - Returns: Whether the descriptors were lost on the way, because this process had no room for them. Then the
    ///   frame has none.
    /// - Throws: `protocolViolation` if more descriptors came than the frame had.
    package func stopExpectingSharedMemory() throws(TransportError) -> Bool {
        let isLost = reading.arrival.take()
        reading.reader.carriesDescriptors = false
        refuseDescriptors()
        guard reading.descriptors.count == 0 else {
            throw TransportError(.protocolViolation, "descriptors came that no frame claims")
        }
        return isLost
    }

    /// Makes memory to share, while a frame is delivered.
    ///
    /// The function returns the descriptors to send to the peer; nil if the memory cannot be made, for example because
    /// the system or the process has no descriptors left.
    /// - Parameter tellsProcessor: Whether both sides say on which processor they run.
    package func makeSharedMemory(tellsProcessor: Bool) -> [CInt]? {
        guard canShare, sharedMemory == nil,
            let made = SharedMemoryTransport.make(tellsProcessor: tellsProcessor, for: PeerIdentity(peer))
        else { return nil }
        sharedMemory = made.path
        return made.descriptors
    }

    /// Adds the frame that gives the peer the memory made here.
    ///
    /// The system may refuse to send the descriptors, because too many descriptors of this user are on their way or the
    /// peer accepts none. Then the frame is sent without them, and the memory is released.
    package func enqueueSharedMemory(kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, descriptors: [CInt]) {
        guard !isForked else { return }
        let held = queueLock.lock()
        let isOpen = writing.output.isOpen
        if isOpen {
            _ = writing.queue.append(
                kind: kind, flags: flags, prefix: prefix, body: nil, descriptors: descriptors, areOptional: true)
        }
        queueLock.unlock(held)
        if !isOpen { for descriptor in descriptors { port_close(descriptor) } }
    }

    /// Whether this end has made or taken shared memory.
    ///
    /// Call it while a frame is delivered.
    package var hasSharedMemory: Bool { sharedMemory != nil }

    /// Releases memory that the peer will not use, while a frame is delivered.
    ///
    /// The function does nothing once the memory is in use.
    package func dropSharedMemory() {
        // After the end the memory is released with the link.
        guard reading.input == .endpoint, let dropped = sharedMemory else { return }
        sharedMemory = nil
        dropped.close()
    }

    /// Releases the memory that the peer does not have, because the frame was sent without the descriptors.
    func sharedMemoryWasWithdrawn() {
        loop.perform { [self] in withReadLock { dropSharedMemory() } }
    }

    /// Takes the memory that the peer has made, while a frame is delivered.
    ///
    /// The caller keeps the descriptors and closes them.
    ///
    /// The result is false if this process cannot open the memory.
    /// - Throws: `protocolViolation` if the descriptors are not those of the memory that the protocol prescribes.
    package func takeSharedMemory(_ descriptors: [CInt], tellsProcessor: Bool) throws(TransportError) -> Bool {
        guard canShare, sharedMemory == nil else { return false }
        sharedMemory = try SharedMemoryTransport.take(
            descriptors, tellsProcessor: tellsProcessor, from: PeerIdentity(peer))
        return sharedMemory != nil
    }

    /// Adds the last frame that is written to the endpoint itself.
    package func enqueueLast(kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer) {
        guard !isForked else { return }
        let held = queueLock.lock()
        if writing.output.isOpen {
            _ = writing.queue.append(kind: kind, flags: flags, prefix: prefix, body: nil, descriptors: [])
            writing.queue.setBoundary()
        }
        queueLock.unlock(held)
    }

    /// Notes that the frame that is being delivered is the last one that is read from the endpoint itself.
    package func moveInput() { _ = reading.input.announceMove() }

    func shareOutput(_ held: borrowing Held<WriteState>) {
        writing.output.share()
        writesToSharedMemory.store(true, ordering: .releasing)
        gate.withLock { held in
            gated.output = .shared
            guard let eventLoop, !gated.life.isOver else { return }
            // The poller may have been asked to report room in the socket.
            setInput(gated.inputInterest & ~UInt32(PORT_WRITABLE), eventLoop, held)
            setDoorbell(eventLoop, held)
        }
    }

    /// Moves the input to shared memory; called between two frames.
    func shareInput(_ held: borrowing Held<ReadState>) {
        _ = reading.input.move()
        readsSharedMemory.store(true, ordering: .releasing)
        admitRegions()
        // From here on the loop reads as well while a blocking reader reads: the peer notifies each of the two
        // separately.
        reading.isLoopStopped = false
        gate.withLock { held in
            _ = gated.input.move()
            gated.wantsInput = true
            guard let eventLoop, !gated.life.isOver else { return }
            // From now on the socket reports only the end, and bytes about regions.
            let rest = gated.inputInterest & UInt32(PORT_WRITABLE | PORT_HANG_UP)
            setInput(rest | UInt32(PORT_READABLE | PORT_EDGE), eventLoop, held)
            let listened = gated.doorbellInterest ?? 0 != 0
            setDoorbell(eventLoop, held)
            // The poller may already have reported the end of the socket and the first bytes in shared memory. It does
            // not report either again by itself.
            eventLoop.rearm(gated.inputSource, link.inputDescriptor, gated.inputInterest)
            if listened { rearmDoorbell(eventLoop, held) }
        }
    }

    // MARK: The doorbell

    /// Sets the poller's interest in the doorbell to what the state needs.
    ///
    /// A doorbell is never emptied: a loop that begins to listen is notified once, whatever came before.
    func setDoorbell(_ eventLoop: EventLoop, _ held: borrowing Held<GateState>) {
        guard let sharedMemory, gated.inputSource != 0 else { return }
        let awaitsRoom = gated.output == .shared && isBlocked.load(ordering: .sequentiallyConsistent)
        let listens = awaitsRoom || (gated.input.isShared && gated.wantsInput)
        let interest = listens ? UInt32(PORT_READABLE | PORT_EDGE) : 0
        let source = gated.inputSource
        if let previous = gated.doorbellInterest {
            guard previous != interest else { return }
            eventLoop.changeDoorbell(source, sharedMemory.doorbell, from: previous, to: interest)
        } else {
            guard eventLoop.addDoorbell(source, sharedMemory.doorbell, interest: interest) else {
                return doorbellIsLost()
            }
        }
        gated.doorbellInterest = interest
    }

    /// Ends the channel, because the system cannot poll the doorbell.
    private func doorbellIsLost() {
        loop.perform { [self] in end(.failed(.system("registering a doorbell", ENOSPC))) }
    }

    func rearmDoorbell(_ eventLoop: EventLoop, _ held: borrowing Held<GateState>) {
        guard let sharedMemory, let interest = gated.doorbellInterest, interest != 0, !gated.life.isOver
        else {
            return
        }
        eventLoop.rearmDoorbell(gated.inputSource, sharedMemory.doorbell, interest)
    }

    func forgetDoorbell(_ eventLoop: EventLoop, _ held: borrowing Held<GateState>) {
        guard let sharedMemory, let interest = gated.doorbellInterest else { return }
        eventLoop.removeDoorbell(sharedMemory.doorbell, interest: interest)
        gated.doorbellInterest = nil
    }

    /// Whether the reported bits may mean that the peer has made room.
    @inline(__always)
    func isNotifiedOfRoom(_ bits: UInt32) -> Bool {
        let (doorbell, polled) = (UInt32(PORT_DOORBELL), UInt32(PORT_POLLED))
        guard bits & (doorbell | polled) == doorbell, writesToSharedMemory.load(ordering: .acquiring), let sharedMemory
        else { return false }
        // `isBlocked` is no substitute: the writing thread may be about to set it.
        return sharedMemory.awaitsRoom.load(ordering: .relaxed)
    }

    // MARK: The socket

    /// Handles what the socket reports once the input comes from shared memory.
    ///
    /// The result is always nil: the handler is notified of the frames before the end, on the loop.
    func readSocket(_ context: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
        guard let held = lockReading(or: .input), let (outcome, handler) = readSocket(context, unlocking: held) else {
            return nil
        }
        // The handler has to get the frames before it gets the end.
        if handler != nil { loop.schedule(.notify, on: self) }
        // A peer may have left more than one read budget.
        if case .more = outcome { rearmInput() }
        settle(outcome)
        return nil
    }

    /// Reads the socket beside shared memory, and, if it has ended, what the peer has left in the memory.
    ///
    /// - Returns: The outcome to settle, and the handler if frames were delivered; nil if the socket has nothing new.
    func readSocket(
        _ context: UnsafeMutablePointer<ReadContext>, unlocking held: consuming Held<ReadState>
    ) -> (ReadOutcome, (any FrameHandler)?)? {
        // The descriptor may be closed as soon as the input has ended.
        guard !reading.input.isEnded else {
            unlockReading(held)
            return nil
        }
        var byte: UInt8 = 0
        let ancillary = context.pointee.ancillary
        let received = withUnsafeMutableBytes(of: &byte) { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
            return link.receive(&vector, 1, ancillary)
        }
        if received > 0 {
            do throws(TransportError) {
                try receiveRegionByte(byte, ancillary.pointee.numbers, isLost: ancillary.pointee.truncated)
            } catch {
                reading.input.end()
                reading.failure = .present(error)
                unlockReading(held)
                return (.failed, nil)
            }
            unlockReading(held)
            // The poller does not report again the bytes that were there before.
            rearmSocket()
            return nil
        }
        switch CInt(-received) {
        case EAGAIN, EWOULDBLOCK:
            unlockReading(held)
            return nil
        case 0, ECONNRESET: break
        case let number:
            reading.input.end()
            reading.failure = .present(.system("reading", number))
            unlockReading(held)
            return (.failed, nil)
        }
        sharedMemory?.isPeerFinished.store(true, ordering: .releasing)
        guard let handler = reading.handler else {
            unlockReading(held)
            return nil
        }
        reading.isPolled = false
        let (outcome, delivered) = readWithinBudget(context, handler, held, isLast: true)
        unlockReading(held)
        return (outcome, delivered ? handler : nil)
    }
}

extension SharedMemoryTransport {
    static let invalidCounters = TransportError(.protocolViolation, "the counters of the shared memory cannot be right")
}
