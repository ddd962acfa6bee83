internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// What one write came to.
    private enum Outcome {
        case more
        case done
        case blocked
        case failed(CInt)
    }

    /// Bytes after which the rest is left to the loop, or to the next thread that flushes; see `portion`.
    private static let budget = 1 << 20
    /// What a write takes of the budget at least: many small ones take long, too.
    private static let smallestCost = 4 << 10

    @inline(__always)
    func flush(isWritable: Bool) {
        flushQueue(isWritable: isWritable)
        if endsAfterFlush.load(ordering: .relaxed) { endAfterFlush() }
    }

    /// Ends the channel after an attempt to write what is enqueued.
    ///
    /// Where another thread writes, that is its attempt, and it ends the channel.
    func flushAndEnd(_ reason: ChannelEnd) {
        guard !isForked else { return }
        queueLock.withLock {
            if writing.pointee.endAfterFlush == nil { writing.pointee.endAfterFlush = reason }
            endsAfterFlush.store(true, ordering: .relaxed)
        }
        flush()
    }

    @inline(never)
    private func endAfterFlush() {
        let held = queueLock.lock()
        let reason = writing.pointee.output.isFlushing ? nil : writing.pointee.endAfterFlush.take()
        if reason != nil { endsAfterFlush.store(false, ordering: .relaxed) }
        queueLock.unlock(held)
        if let reason { end(reason) }
    }

    /// What the calling thread may write now.
    ///
    /// The loop has others to serve. Another thread writes what it finds, its own frames among it, and a little more:
    /// not all that others enqueue meanwhile, which can go on without end.
    @inline(__always)
    private func portion(_ held: borrowing Held<WriteState>) -> Int {
        LoopThread.current != nil ? Self.budget : Self.budget + writing.pointee.queue.queuedBytes
    }

    private func flushQueue(isWritable: Bool) {
        guard !isForked else { return }
        var held = queueLock.lock()
        let wasBlocked = isBlocked.load(ordering: .relaxed)
        let action = writing.pointee.output.beginFlush(
            isWritable: isWritable, isBlocked: wasBlocked && !writing.pointee.mayPassPieces,
            canWrite: writing.pointee.canWrite)
        if case .none = action {
            queueLock.unlock(held)
            return
        }
        // Only when it changes: the store costs as much as a lock.
        if wasBlocked { isBlocked.store(false, ordering: .sequentiallyConsistent) }
        // The poller may have been asked after it had reported room. Then settling this flush takes the interest back.
        if isWritable { writing.pointee.hasInterest = true }
        guard case .write = action else { return settleAndUnlock(held) }
        var budget = portion(held)
        while true {
            if !writing.pointee.blobOffers.isEmpty {
                sendBlobOffers(&held)
                if writing.pointee.output.isClosed || !writing.pointee.queue.canWrite {
                    writing.pointee.output.endFlush()
                    return settleAndUnlock(held)
                }
            }
            let outcome =
                writing.pointee.hasOnlyFrames
                ? writeFramesAndUnlock(held, &budget) : writeOnceAndUnlock(held, &budget)
            switch outcome {
            case .more:
                held = queueLock.lock()
                // The channel may have ended: nothing is written after that.
                if !writing.pointee.output.isClosed, budget > 0 { continue }
                writing.pointee.output.endFlush()
                if writing.pointee.output.isClosed { return settleAndUnlock(held) }
                queueLock.unlock(held)
                loop.schedule(.flush, on: self)
            case .done: break
            case .blocked: settleWriteInterest()
            case .failed(let number): failWriting(number)
            }
            return
        }
    }

    /// `writeOnceAndUnlock` for what is most frequent: nothing but whole frames, in one piece of memory.
    @inline(__always)
    private func writeFramesAndUnlock(_ held: consuming Held<WriteState>, _ budget: inout Int) -> Outcome {
        let frames = writing.pointee.queue.planOnlyFrames()
        let shared = writing.pointee.output.isShared ? sharedMemory : nil
        let content = writing.pointee.content
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: frames.baseAddress), iov_len: frames.count)
        let written = queueLock.unlocked(&held) {
            shared?.write(&vector, 1, bound: SharedMemoryTransport.capacity, content: content)
                ?? link.send(&vector, 1, [], withCredentials: false)
        }
        writing.pointee.queue.advanceOnlyFrames(max(0, written))
        if written == frames.count, writing.pointee.isQuiet, !frameQueueIsFull.load(ordering: .relaxed) {
            writing.pointee.content = []
            writing.pointee.output.endFlush()
            queueLock.unlock(held)
            return .done
        }
        let spent = writing.pointee.queue.takeSpent()
        defer { withExtendedLifetime(spent) {} }
        budget -= max(Self.smallestCost, written)
        return settleWriteAndUnlock(held, written, frames.count)
    }

    /// What a write has come to, and what the caller frees without the lock.
    private struct Attempt {
        var planned = 0
        var written = 0
        /// Bytes copied into a region.
        var copied = 0
        var sent: [CInt] = []
        /// Descriptors that a frame leaves without.
        var withdrawn: [CInt]?
        var spent: [AnyObject] = []
    }

    /// One system call.
    ///
    /// Unless the answer is `.more`, the flush is over and its mark is taken away.
    private func writeOnceAndUnlock(_ held: consuming Held<WriteState>, _ budget: inout Int) -> Outcome {
        let attempt = withUnsafeTemporaryAllocation(of: iovec.self, capacity: OutboundQueue.maximumVectors) { buffer in
            attemptWrite(&held, buffer.baseAddress.unsafelyUnwrapped)
        }
        defer { withExtendedLifetime(attempt.spent) {} }
        budget -= max(Self.smallestCost, attempt.written + attempt.copied)
        if let withdrawn = attempt.withdrawn {
            queueLock.unlock(held)
            for descriptor in withdrawn { port_close(descriptor) }
            sharedMemoryWasWithdrawn()
            return .more
        }
        if writing.pointee.queue.passBoundary() { shareOutput(held) }
        let outcome = settleWriteAndUnlock(held, attempt.written, attempt.planned)
        for descriptor in attempt.sent { port_close(descriptor) }
        return outcome
    }

    private func attemptWrite(_ held: inout Held<WriteState>, _ vectors: UnsafeMutablePointer<iovec>) -> Attempt {
        var fragments = OutboundQueue.maximumFragments
        if let message = writing.pointee.queue.firstMessage {
            fragments = writing.pointee.pacing.fragments(
                link, message: message, takesPieces: writing.pointee.queue.takesPieces,
                enqueued: writing.pointee.queue.lastNumber, read: framesRead.load(ordering: .relaxed))
        }
        let shared = writing.pointee.output.isShared ? sharedMemory : nil
        let room = messageRoom(shared, held)
        let plan = writing.pointee.queue.plan(vectors, fragments: fragments, pieceSize: pieceSize(room, held))
        let withCredentials = writing.pointee.sendsCredentials
        let bound = writing.pointee.pacing.sharedBound
        let content = writing.pointee.content
        let descriptorFrames = plan.descriptorFrames
        var attempt = Attempt(planned: plan.bytes)
        writing.pointee.waitsForPiece = plan.bytes == 0
        if case .broken = room {
            attempt.written = -Int(EPROTO)
        } else if plan.bytes == 0 {
            // For want of a free piece.
            attempt.written = -Int(EAGAIN)
        } else {
            if let piece = plan.piece { attempt.copied = piece.payload }
            attempt.written = queueLock.unlocked(&held) {
                guard let shared else {
                    return link.send(vectors, plan.vectors, plan.descriptors, withCredentials: withCredentials)
                }
                if let piece = plan.piece, case .piece(let target) = room {
                    plan.bulk?.copy(piece.payload, to: target)
                    shared.pieceIsFilled()
                }
                let written = shared.write(vectors, plan.vectors, bound: bound, content: content)
                if case .stream = room, plan.takesPieces { offerRegion(shared, written) }
                return written
            }
        }
        if attempt.written > 0, withCredentials { writing.pointee.sendsCredentials = false }
        attempt.sent = writing.pointee.queue.advance(plan, written: max(0, attempt.written))
        attempt.spent = writing.pointee.queue.takeSpent()
        if attempt.written < 0, descriptorFrames > 0, Self.mayBeOfDescriptors(attempt.written) {
            attempt.withdrawn = writing.pointee.queue.withdrawDescriptors(ofFirst: descriptorFrames)
        }
        return attempt
    }

    /// Whether a write may have failed because of the descriptors that it carried.
    ///
    /// What says that the peer is gone, or reads too slowly, does not; any other error comes again without them if it
    /// was not theirs.
    private static func mayBeOfDescriptors(_ result: Int) -> Bool {
        ![EAGAIN, EWOULDBLOCK, EPIPE, ECONNRESET, ENOTCONN].contains(CInt(-result))
    }

    /// Whether there is room again that the owner waits for.
    private func takeRoom(_ held: borrowing Held<WriteState>) -> Bool {
        var hasRoom = false
        if frameQueueIsFull.load(ordering: .relaxed), writing.pointee.queue.unsentOwnFrames <= unsentFrames / 2 {
            frameQueueIsFull.store(false, ordering: .relaxed)
            hasRoom = true
        }
        if let mark = writing.pointee.messageMark, writing.pointee.queue.unsentOwnMessages <= mark {
            writing.pointee.messageMark = nil
            hasRoom = true
        }
        return hasRoom
    }

    /// What follows from a write.
    private func settleWriteAndUnlock(_ held: consuming Held<WriteState>, _ written: Int, _ planned: Int) -> Outcome {
        var notifies = false
        if let mark = writing.pointee.answerMark, writing.pointee.queue.unsentAnswers <= mark {
            writing.pointee.answerMark = nil
            notifies = true
        }
        if takeRoom(held) { notifies = true }
        defer { if notifies { loop.schedule(.notify, on: self) } }
        if written < 0, written != -Int(EAGAIN), written != -Int(EWOULDBLOCK) {
            writing.pointee.output.endFlush()
            if writing.pointee.output.isClosed {
                settleAndUnlock(held)
                return .done
            }
            queueLock.unlock(held)
            return .failed(CInt(-written))
        }
        if writing.pointee.output.isClosed {
            writing.pointee.output.endFlush()
            settleAndUnlock(held)
            return .done
        }
        if written < planned {
            // No more than a ring goes into it at a time.
            let hasRoom = writing.pointee.output.isShared && sharedMemory?.awaitsRoom.load(ordering: .relaxed) == false
            switch writing.pointee.output.cutShort(hasRoom: hasRoom) {
            case .writeAgain:
                queueLock.unlock(held)
                return .more
            case .block:
                isBlocked.store(true, ordering: .sequentiallyConsistent)
                writing.pointee.hasInterest = true
                queueLock.unlock(held)
                return .blocked
            }
        }
        if writing.pointee.canWrite {
            queueLock.unlock(held)
            return .more
        }
        writing.pointee.output.endFlush()
        settleAndUnlock(held)
        return .done
    }

    /// What has to follow when no thread writes and nothing can be written.
    private func settleAndUnlock(_ held: consuming Held<WriteState>) {
        if writing.pointee.output.isClosed { return settleClosedAndUnlock(held) }
        guard writing.pointee.queue.isEmpty else {
            // Large messages that wait for credit.
            let hadInterest = writing.pointee.hasInterest
            writing.pointee.hasInterest = false
            queueLock.unlock(held)
            if hadInterest { settleWriteInterest() }
            return
        }
        writing.pointee.content = []
        writing.pointee.pacing.rest(link)
        let actions = writing.pointee.output.queueIsEmpty()
        let hadInterest = writing.pointee.hasInterest
        writing.pointee.hasInterest = false
        queueLock.unlock(held)
        if hadInterest { settleWriteInterest() }
        if actions.contains(.finishOutput) { finishOutput() }
        if actions.contains(.endChannel) { end(.endOfFile) }
    }

    /// Gives up what is not written.
    ///
    /// Called once.
    func settleClosedAndUnlock(_ held: consuming Held<WriteState>) {
        let descriptors = writing.pointee.queue.discard() + writing.pointee.takeBlobOffers()
        let spent = writing.pointee.queue.takeSpent()
        let timer = writing.pointee.regionTimer.take()
        queueLock.unlock(held)
        if let timer { loop.cancelTimer(timer) }
        for descriptor in descriptors { port_close(descriptor) }
        withExtendedLifetime(spent) {}
        leave(.output)
    }

    /// The peer no longer reads.
    ///
    /// What it sent before is read first; then the channel ends.
    private func failWriting(_ number: CInt) {
        let held = queueLock.lock()
        let action = writing.pointee.output.fail()
        if case .none = action { return queueLock.unlock(held) }
        settleAndUnlock(held)
        settleWriteInterest()
        switch action {
        case .none: break
        case .endWithViolation: end(.failed(SharedMemoryTransport.invalidCounters))
        case .endOfFile: end(.endOfFile)
        case .drain:
            gate.withLock { gated.pointee.writeError = number }
            loop.schedule(.drain, on: self)
        }
    }
}
