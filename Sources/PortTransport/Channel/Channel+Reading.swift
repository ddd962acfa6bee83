internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// The result of one read.
    ///
    /// The outcome has no payload, so that returning it costs nothing: the read state says why a read failed.
    enum ReadOutcome {
        /// The read filled its memory, so there may be more.
        case more
        case drained
        case endOfFile
        case failed
    }

    /// The bytes asked for in one read, besides those that go straight into a large message.
    private static let portion = 64 << 10
    /// The most reads before the loop serves other channels.
    private static let readBudget = 16
    /// The most reads of input left by a peer that no longer reads.
    ///
    /// Input beyond that is discarded: the peer might go on without end.
    private static let lastReadBudget = 256
    /// Parts of frames up to this size are copied, so that a slow peer keeps no read buffer.
    private static let smallPart = 4 << 10

    /// Reads when the descriptor is readable, on the loop's leader.
    ///
    /// Returns the handler if frames were delivered.
    func readAvailable(_ context: UnsafeMutablePointer<ReadContext>, _ bits: UInt32) -> (any FrameHandler)? {
        guard let held = lockReading(or: bits & UInt32(PORT_DOORBELL) == 0 ? .input : .doorbell) else { return nil }
        if reading.input.isShared, bits & UInt32(PORT_DOORBELL) == 0 {
            unlockReading(held)
            return readSocket(context)
        }
        guard !reading.input.isEnded, !reading.isLoopStopped else {
            unlockReading(held)
            return nil
        }
        let isPolled = bits & UInt32(PORT_POLLED) != 0
        reading.isPolled = isPolled
        guard let handler = reading.handler else {
            unlockReading(held)
            return nil
        }
        let (outcome, delivered) = readWithinBudget(context, handler, held, isLast: false)
        unlockReading(held)
        switch outcome {
        case .more, .drained:
            // The poller does not report an end again if it came before the read.
            if !isPolled, outcome == .more || bits & UInt32(PORT_HANG_UP) != 0 { rearmInput() }
            return delivered ? handler : nil
        case .endOfFile, .failed:
            // The handler has to get the frames before it gets the end.
            if delivered { loop.schedule(.notify, on: self) }
            settle(outcome)
            return nil
        }
    }

    /// Reads a memory link, on the loop.
    func readMemory() {
        gate.withLock { gated.readScheduled = false }
        let held = readLock.lock()
        guard !reading.input.isEnded, !reading.isLoopStopped, let handler = reading.handler
        else {
            return unlockReading(held)
        }
        let before = framesRead.load(ordering: .relaxed)
        let outcome = ReadContext.withTemporary { readOnce($0, handler, held) }
        let delivered = framesRead.load(ordering: .relaxed) != before
        unlockReading(held)
        if delivered { loop.schedule(.notify, on: self) }
        settle(outcome)
        if case .memory(let end) = link, end.isReadable { inputArrived() }
    }

    /// Reads what the peer has sent, after the peer stopped reading, and ends the channel.
    func drainAfterFailedWrite() {
        guard let held = lockReading(or: .drain) else { return }
        guard !reading.input.isEnded, let handler = reading.handler else { return unlockReading(held) }
        let (outcome, delivered) = ReadContext.withTemporary { readWithinBudget($0, handler, held, isLast: true) }
        unlockReading(held)
        if delivered { loop.schedule(.notify, on: self) }
        switch outcome {
        case .endOfFile, .failed: return settle(outcome)
        case .drained, .more: break
        }
        let number = gate.withLock { gated.writeError }
        end(.failed(.system("writing", number, code: .brokenPipe)))
    }

    /// Reads within the read budget.
    ///
    /// The second result says whether frames were delivered.
    func readWithinBudget(
        _ context: UnsafeMutablePointer<ReadContext>, _ handler: any FrameHandler, _ held: borrowing Held<ReadState>,
        isLast: Bool
    ) -> (ReadOutcome, Bool) {
        let before = framesRead.load(ordering: .relaxed)
        var outcome = ReadOutcome.more
        var count = 0
        while case .more = outcome, count < (isLast ? Self.lastReadBudget : Self.readBudget) {
            outcome = readOnce(context, handler, held)
            // A short read of a stream that carries descriptors does not prove that the input is empty, so another read
            // follows.
            if isLast, case .drained = outcome, reading.lastWasShort { outcome = .more }
            count += 1
            // Frames are handled before the large message behind them is read.
            if !isLast, framesRead.load(ordering: .relaxed) != before { break }
        }
        return (outcome, framesRead.load(ordering: .relaxed) != before)
    }

    /// Settles the result of a read, with no lock held.
    func settle(_ outcome: ReadOutcome) {
        switch outcome {
        case .more, .drained: break
        case .endOfFile: inputEnded()
        case .failed:
            let (error, handler) = withReadLock { (reading.failure.value, reading.handler) }
            guard let error else { return }
            // The handler may send a last frame, such as one that says why it refuses the peer.
            handler?.inputFailed(error)
            flushAndEnd(.failed(error))
        }
    }

    private func inputEnded() {
        gate.withLock { held in
            gated.input.end()
            setReadInterest(false, held)
            // Otherwise the poller would report the socket's end again and again.
            if gated.input.isShared, let eventLoop {
                setInput(gated.inputInterest & ~UInt32(PORT_READABLE | PORT_EDGE), eventLoop, held)
            }
        }
        switch queueLock.withLock({ writing.output.inputEnded(isEmpty: writing.queue.isEmpty) }) {
        case .endChannel: return end(.endOfFile)
        case .watchAndFlush: watchForHangUp()
        case .flush: break
        }
        flush()
    }

    /// Makes one receive and delivers what it brought.
    func readOnce(
        _ context: UnsafeMutablePointer<ReadContext>, _ handler: any FrameHandler, _ held: borrowing Held<ReadState>
    ) -> ReadOutcome {
        let (buffer, start, end, needed) = prepareBuffer(context)
        let memory = buffer._withUnsafeGuaranteedRef { $0.memory }
        var vectors = (iovec(), iovec())
        var count = 0
        var asked = Self.portion
        let direct = reading.reader.destination
        if let direct {
            vectors.0 = iovec(iov_base: direct.baseAddress, iov_len: direct.count)
            // Usually the header of the next continuation follows. The payload of that one again goes straight into the
            // message.
            asked = reading.reader.moreFollows ? FrameHeader.continuationSize : Self.portion
            count = 1
        }
        let room = min(ReadBuffer.size - end, max(asked, needed - (end - start)))
        let rest = iovec(iov_base: memory + end, iov_len: room)
        if count == 0 { vectors.0 = rest } else { vectors.1 = rest }
        count += 1
        let shared = reading.input.isShared ? sharedMemory : nil
        let takesAncillary = shared == nil && expectsAncillary
        let received = withUnsafePointer(to: &vectors) { pointer in
            pointer.withMemoryRebound(to: iovec.self, capacity: 2) {
                shared?.read($0, count, requestsDoorbell: !reading.isPolled)
                    ?? link.receive($0, count, takesAncillary ? context.pointee.ancillary : nil)
            }
        }
        guard received > 0 else {
            // There was nothing to read, so this was not a short read.
            reading.lastWasShort = false
            if end > start { keepPart(memory, context, start, end, needed) }
            return outcome(received, isPartial: end > start)
        }
        // A read of a stream that brings descriptors may be short although more input is there.
        reading.lastWasShort =
            received < room + (direct?.count ?? 0) && reading.arrival == .notExpected
            && (shared?.isDrained ?? true || reading.isPolled)
        do {
            if takesAncillary { try takeAncillary(context.pointee.ancillary, received) }
            var filled = received
            if let direct {
                let part = min(received, direct.count)
                context.pointee.hasContent = true
                filled -= part
                if case .largeMessage(let number, let bytes)? = reading.reader.filled(part) {
                    try deliver(largeMessage: number, bytes, handler)
                }
            }
            try deliver(handler, buffer, memory, context, start, end + filled, held)
        } catch let error as TransportError {
            return failed(error)
        } catch {
            return failed(TransportError(.handlerFailed, "A frame was refused: \(error)"))
        }
        return reading.lastWasShort ? .drained : .more
    }

    /// Whether descriptors or credentials may come beside bytes of the socket.
    ///
    /// None come beside bytes in shared memory, and what the last read left in the context may be of another channel.
    private var expectsAncillary: Bool {
        acceptsDescriptors || reading.wantsCredentials || reading.arrival != .notExpected || reading.foreignBytes > 0
    }

    @inline(never)
    private func failed(_ error: TransportError) -> ReadOutcome {
        reading.input.end()
        reading.failure = .present(error)
        return .failed
    }

    private func outcome(_ received: Int, isPartial: Bool) -> ReadOutcome {
        switch CInt(-received) {
        case EAGAIN, EWOULDBLOCK: return .drained
        // The peer closed its end without reading all that this side sent. All that the peer sent was read.
        case 0, ECONNRESET: break
        case EPROTO where reading.input.isShared: return failed(SharedMemoryTransport.invalidCounters)
        case let number:
            return failed(.system("reading", number))
        }
        reading.input.end()
        if isPartial || !reading.reader.isWhole {
            return failed(TransportError(.truncated, "the input ended inside a message"))
        }
        return .endOfFile
    }

    /// Finds the memory for the next read.
    ///
    /// - Returns: The buffer; the range in it of the part of a frame that was read before; and the size of that frame,
    ///   if known.
    @inline(__always)
    private func prepareBuffer(
        _ context: UnsafeMutablePointer<ReadContext>
    ) -> (buffer: Unmanaged<ReadBuffer>, start: Int, end: Int, needed: Int) {
        guard let part = reading.part.take() else { return (context.pointee.current(), 0, 0, 0) }
        return prepareBuffer(context, with: part)
    }

    @inline(never)
    private func prepareBuffer(
        _ context: UnsafeMutablePointer<ReadContext>, with part: FramePart
    ) -> (buffer: Unmanaged<ReadBuffer>, start: Int, end: Int, needed: Int) {
        if case .buffer(let kept, let place) = part.memory, ReadBuffer.size - place.lowerBound >= part.needed {
            context.pointee.resume(kept)
            return (Unmanaged.passUnretained(kept), place.lowerBound, place.upperBound, part.needed)
        }
        let buffer = context.pointee.current()
        buffer._withUnsafeGuaranteedRef { $0.memory.copyMemory(from: part.bytes, byteCount: part.count) }
        return (buffer, 0, part.count, part.needed)
    }

    /// Keeps the part of a frame at `start..<end` for the next read.
    @inline(never)
    private func keepPart(
        _ memory: UnsafeMutableRawPointer, _ context: UnsafeMutablePointer<ReadContext>, _ start: Int, _ end: Int,
        _ needed: Int
    ) {
        let isSmall = end - start <= Self.smallPart
        let buffer = isSmall ? nil : context.pointee.takeCurrent()
        reading.part = FramePart(memory, start..<end, in: buffer, needed: needed)
    }

    @inline(__always)
    private func deliver(
        _ handler: any FrameHandler, _ buffer: Unmanaged<ReadBuffer>, _ memory: UnsafeMutableRawPointer,
        _ context: UnsafeMutablePointer<ReadContext>, _ start: Int, _ end: Int, _ held: borrowing Held<ReadState>
    ) throws {
        let bytes = UnsafeRawBufferPointer(start: memory, count: end)
        reading.reader.consumed = consumed.load(ordering: .relaxed)
        var cursor = start
        var frames: UInt64 = 0
        defer { if frames > 0 { count(frames) } }
        while true {
            let event = try reading.reader.next(bytes, &cursor)
            if case .incomplete = event {} else { context.pointee.hasContent = true }
            switch event {
            case .frame(let header, let number, let body, let messageLength):
                frames += 1
                let descriptors = header.descriptors == 0 ? [] : try claim(header.descriptors, number)
                try handler.receive(
                    InboundFrame(
                        header, number: number, bytes: UnsafeRawBufferPointer(rebasing: bytes[body]),
                        messageLength: messageLength, descriptors: descriptors, buffer: buffer))
                if reading.input == .moving {
                    guard cursor == end else {
                        throw TransportError(
                            .protocolViolation, "bytes came behind the frame that was to be the socket's last")
                    }
                    shareInput(held)
                }
            case .largeMessage(let number, let bytes):
                try deliver(largeMessage: number, bytes, handler)
            case .piece:
                guard case .largeMessage(let number, let bytes)? = try readPiece() else { continue }
                try deliver(largeMessage: number, bytes, handler)
            case .incomplete(let needed):
                // Bytes of a large message came, and more of it will.
                if reading.reader.destination != nil { context.pointee.hasContent = true }
                if end > cursor { keepPart(memory, context, cursor, end, needed) }
                return
            }
        }
    }

    private func deliver(largeMessage number: UInt64, _ bytes: ByteSlice?, _ handler: any FrameHandler) throws {
        count(1)
        try handler.receive(largeMessage: number, bytes)
    }

    /// Counts frames that were read.
    ///
    /// Only the thread with the read lock counts, so an atomic addition is not needed.
    @inline(__always)
    private func count(_ frames: UInt64) {
        framesRead.store(framesRead.load(ordering: .relaxed) &+ frames, ordering: .relaxed)
    }
}
