package import CPortShims

extension OutboundQueue {
    // Functions that only read, and are not always inlined, are `mutating` as well: otherwise the caller copies the
    // whole queue.

    /// Whether a large message may go on now.
    @inline(__always)
    var messageMayGo: Bool { mutating get { large?.mayGo(within: window) ?? false } }

    /// Whether anything can be written without more credit.
    @inline(__always)
    package var canWrite: Bool { mutating get { filling.count + draining.count > 0 || messageMayGo } }

    /// Whether there is nothing to write but whole frames without descriptors.
    @inline(__always)
    var hasOnlyFrames: Bool { large?.messages.isEmpty ?? true && descriptors.count == 0 && boundary == nil }

    /// Whether there is something to write that needs neither credit nor a piece of a region.
    var hasFrames: Bool { filling.count + draining.count > 0 }

    /// Sets the boundary to the end of the last frame.
    mutating func setBoundary() { boundary = frameBytesEnqueued }

    /// Removes the boundary if everything before it is written; true if so.
    mutating func passBoundary() -> Bool {
        guard let reached = boundary, frameBytesWritten == reached else { return false }
        boundary = nil
        return true
    }

    /// Whether nothing is left to write or free.
    @inline(__always)
    var isIdle: Bool { queuedBytes == 0 && large?.spent.isEmpty ?? true }

    /// The next write, in one piece, for a queue that `hasOnlyFrames`; `advanceOnlyFrames` accounts for it.
    mutating func planOnlyFrames() -> UnsafeRawBufferPointer {
        isPlanned = true
        if draining.count == 0 {
            draining.removeAll()
            swap(&draining, &filling)
        }
        return UnsafeRawBufferPointer(start: draining.start, count: draining.count)
    }

    mutating func advanceOnlyFrames(_ written: Int) {
        isPlanned = false
        if written > 0 { advanceFrames(written) }
        if let large, !large.delayedAborts.isEmpty { abortDelayed(large) }
    }

    /// Lays out the next write in `vectors`.
    ///
    /// - Parameters:
    ///   - vectors: Room for `maximumVectors`.
    ///   - fragments: The most continuations in the write.
    ///   - pieceSize: The bytes that the next piece of the region takes, if the queue `wantsPiece`; 0 if no piece is
    ///     free; nil if there is no region.
    package mutating func plan(
        _ vectors: UnsafeMutablePointer<iovec>, fragments: Int, pieceSize: Int? = nil
    ) -> Plan {
        var plan = Plan()
        isPlanned = true
        var unfinished = large?.unfinished ?? .none
        if let large, let fragment = unfinished.fragment {
            var goesFirst = draining.count == 0
            if case .begun = unfinished { goesFirst = true }
            if goesFirst {
                planFragment(fragment, large.messages[0].cursor, of: large, slot: 0, vectors, &plan)
                unfinished = .none
            }
        }
        if draining.count == 0 {
            draining.removeAll()
            swap(&draining, &filling)
        }
        guard planFrames(vectors, &plan), let large else { return plan }
        if let fragment = unfinished.fragment {
            planFragment(fragment, large.messages[0].cursor, of: large, slot: 0, vectors, &plan)
            return plan
        }
        if filling.count == 0, boundary == nil, pieceSize != 0, messageMayGo {
            planMessage(of: large, vectors, fragments: fragments, pieceSize: pieceSize, &plan)
        }
        return plan
    }

    /// Adds new continuations of the first message.
    private func planMessage(
        of large: LargeOutput, _ vectors: UnsafeMutablePointer<iovec>, fragments: Int, pieceSize: Int?,
        _ plan: inout Plan
    ) {
        let message = large.messages[0]
        if !message.isStarted {
            // Counted before the write and not after it: the peer may give back credit for these bytes before the
            // writing thread has returned from the kernel.
            message.isStarted = true
            large.outstanding += UInt64(message.total)
        }
        if let pieceSize {
            // A continuation that was begun has to be finished first.
            guard large.unfinished.fragment == nil else { return }
            let payload = min(pieceSize, message.total - message.offset)
            let piece = Fragment(payload: payload, isLast: message.offset + payload == message.total, isPiece: true)
            planFragment(piece, message.cursor, of: large, slot: 0, vectors, &plan)
            plan.piece = piece
            return
        }
        let portion = fragments > 1 ? sizes.value.continuation : sizes.value.narrowContinuation
        var cursor = message.cursor
        var slot = 0
        if let fragment = large.unfinished.fragment {
            // New continuations begin behind the one that is being finished.
            message.forEachPiece(&cursor, fragment.payload - fragment.payloadWritten) { _ in }
            if fragment.isLast || message.isAborted { return }
            slot = 1
        }
        while slot < min(fragments, Self.maximumFragments) {
            let payload = message.payload(at: cursor, atMost: portion)
            let next = Fragment(payload: payload, isLast: cursor.offset + payload == message.total)
            planFragment(next, cursor, of: large, slot: slot, vectors, &plan)
            message.forEachPiece(&cursor, payload) { _ in }
            slot += 1
            if next.isLast { break }
        }
    }

    func planFragment(
        _ fragment: Fragment, _ start: LargeMessage.Cursor, of large: LargeOutput, slot: Int,
        _ vectors: UnsafeMutablePointer<iovec>, _ plan: inout Plan
    ) {
        let message = large.messages[0]
        plan.message = message
        plan.takesPieces = large.takesPieces
        plan.parts.append(.continuation(fragment))
        if fragment.isLast { large.isEndPlanned = true }
        let header = large.headers + slot * LargeOutput.headerStride
        if fragment.written < fragment.headerSize {
            FrameHeader(
                length: UInt32(truncatingIfNeeded: fragment.isPiece ? 12 : fragment.payload + 8),
                kind: FrameHeader.continuationKind,
                flags: (fragment.isLast ? FrameHeader.lastFlag : 0) | (fragment.isPiece ? FrameHeader.pieceFlag : 0)
            ).write(to: header)
            (header + FrameHeader.size).storeBytes(of: message.number.littleEndian, as: UInt64.self)
            if fragment.isPiece {
                (header + FrameHeader.continuationSize).storeBytes(
                    of: UInt32(truncatingIfNeeded: fragment.payload).littleEndian, as: UInt32.self)
            }
            let left = fragment.headerSize - fragment.written
            vectors[plan.vectors] = iovec(iov_base: header + fragment.written, iov_len: left)
            plan.vectors += 1
            plan.bytes += left
        }
        guard !fragment.isPiece else { return }
        var cursor = start
        var count = plan.vectors
        let left = fragment.payload - fragment.payloadWritten
        message.forEachPiece(&cursor, left) { bytes in
            vectors[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
            count += 1
        }
        plan.vectors = count
        plan.bytes += left
    }

    /// Adds whole frames, as many as one `sendmsg` can carry with their descriptors; true if no frame in `draining` is
    /// left.
    func planFrames(_ vectors: UnsafeMutablePointer<iovec>, _ plan: inout Plan) -> Bool {
        var count = draining.count
        guard count > 0, let start = draining.start else { return true }
        if let boundary { count = min(count, Int(boundary - frameBytesWritten)) }
        if descriptors.count > 0 {
            let end = frameBytesWritten + UInt64(count)
            for index in 0..<descriptors.count where descriptors[index].start < end {
                let next = descriptors[index]
                // More descriptors are sent only when the frames of the earlier ones are completely written, so the
                // peer never holds more unclaimed descriptors than two messages bring.
                let fits = plan.descriptors.count + next.numbers.count <= 253 && descriptorsSent <= frameBytesWritten
                guard fits else {
                    count = Int(next.start - frameBytesWritten)
                    break
                }
                plan.descriptors += next.numbers
                plan.descriptorFrames += 1
            }
        }
        if count > 0 {
            vectors[plan.vectors] = iovec(iov_base: start, iov_len: count)
            plan.vectors += 1
            plan.bytes += count
            plan.parts.append(.frames(count))
        }
        return count == draining.count
    }

    /// Accounts for `written` bytes of a plan.
    ///
    /// Returns the descriptors that were sent, for the caller to close.
    package mutating func advance(_ plan: consuming Plan, written: Int) -> [CInt] {
        isPlanned = false
        var left = written
        var sent: [CInt] = []
        if written > 0, plan.descriptorFrames > 0 {
            sent = plan.descriptors
            for _ in 0..<plan.descriptorFrames {
                if let frame = descriptors.popFirst() { descriptorsSent = frame.end }
            }
        }
        for part in plan.parts {
            switch part {
            case .frames(let count):
                let count = min(left, count)
                if count > 0 { advanceFrames(count) }
                left -= count
            case .continuation(let fragment):
                if let large { advanceFragment(fragment, of: large, &left) }
            }
        }
        guard let large else { return sent }
        large.isEndPlanned = false
        if !large.delayedAborts.isEmpty { abortDelayed(large) }
        return sent
    }

    /// Removes the descriptors from the first `count` frames that have some, after a write that failed.
    ///
    /// - Returns: The descriptors, for the caller to close; nil if one of these frames needs its own.
    mutating func withdrawDescriptors(ofFirst count: Int) -> [CInt]? {
        guard !isPlanned, count > 0, (0..<count).allSatisfy({ descriptors[$0].areOptional }) else { return nil }
        var withdrawn: [CInt] = []
        for _ in 0..<count {
            guard let frame = descriptors.popFirst(), let start = draining.start else { break }
            FrameHeader.clearDescriptors(at: start + Int(frame.start - frameBytesWritten))
            withdrawn += frame.numbers
        }
        return withdrawn
    }

    @inline(never)
    mutating func abortDelayed(_ large: LargeOutput) {
        let numbers = large.delayedAborts
        large.delayedAborts = []
        for number in numbers { abort(number) }
    }

    mutating func advanceFrames(_ count: Int) {
        draining.removeFirst(count)
        frameBytesWritten += UInt64(count)
        queuedBytes -= count
        if frameBytesWritten == frameBytesEnqueued {
            writtenFrames = lastNumber
            ends.removeAll(keeping: 16)
            hasOpenFrame = false
            if frameAnswers > 0 { answersWritten(inFrameQueue: frameAnswers) }
        } else {
            while ends.count > 0, ends[0].end <= frameBytesWritten {
                answersWritten(inFrameQueue: ends[0].answer)
                _ = ends.popFirst()
                writtenFrames += 1
            }
        }
        if draining.count == 0 {
            draining.trim(to: Self.keptCapacity)
            // The two queues share one memory block, so that an idle channel keeps only one.
            if !filling.hasMemory { swap(&draining, &filling) }
        }
    }

    @inline(__always)
    mutating func answersWritten(inFrameQueue count: Int) {
        frameAnswers &-= count
        writtenAnswers &+= UInt64(count)
    }

    private mutating func advanceFragment(_ planned: Fragment, of large: LargeOutput, _ left: inout Int) {
        guard let message = large.messages.first else { return }
        var fragment = planned
        let count = min(left, fragment.left)
        fragment.written += count
        left -= count
        let payload = fragment.payloadWritten - planned.payloadWritten
        message.advance(payload)
        queuedBytes -= payload
        if message.isAnswer {
            large.unsentAnswers -= payload
            writtenAnswers &+= UInt64(payload)
        } else {
            large.unsentOwn -= payload
        }
        guard fragment.left == 0 else {
            if fragment.written > 0 {
                large.unfinished = .begun(fragment)
            } else if fragment.isPiece {
                large.unfinished = .filled(fragment)
            }
            return
        }
        large.unfinished = .none
        if fragment.isLast {
            if message.total == 0 { queuedBytes -= 1 }
            if let done = large.messages.popFirst() { large.spent.append(done) }
        } else if message.isAborted {
            drop(message, of: large)
        }
    }

    /// Counts a frame that will never be written, because the channel no longer writes.
    package mutating func appendNothing() -> UInt64 {
        closeFrame()
        lastNumber += 1
        return lastNumber
    }

    /// Takes the objects that the owner frees without its lock.
    @inline(__always)
    package mutating func takeSpent() -> [AnyObject] {
        guard let large, !large.spent.isEmpty else { return [] }
        let taken = large.spent
        large.spent = []
        return taken
    }

    /// Empties the queue of a channel that no longer writes.
    ///
    /// `isWritten` still answers for what was written.
    ///
    /// Not to be called during a write. Returns descriptors for the owner to close.
    package mutating func discard() -> [CInt] {
        var numbers: [CInt] = []
        if let large {
            while let message = large.messages.popFirst() { large.abandon(message) }
            large.unfinished = .none
            large.unsentAnswers = 0
            large.unsentOwn = 0
        }
        while let frame = descriptors.popFirst() { numbers += frame.numbers }
        queuedBytes = 0
        frameAnswers = 0
        ends.removeAll(keeping: 0)
        hasOpenFrame = false
        filling.removeAll()
        filling.trim(to: 0)
        draining.removeAll()
        draining.trim(to: 0)
        return numbers
    }
}
