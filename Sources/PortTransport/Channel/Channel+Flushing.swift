internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// The result of one write.
    private enum Outcome {
        case more
        case done
        case blocked
        case failed(CInt)
    }

    /// After so many bytes in one flush, the rest is left to the loop, or to a thread that flushes before it; see
    /// `portion`.
    private static let budget = 1 << 20
    /// The least that a write takes from the budget: many small writes take long, too.
    private static let smallestCost = 4 << 10

    @inline(__always)
    func flush(isWritable: Bool) {
        flushQueue(isWritable: isWritable)
        if endsAfterFlush.load(ordering: .relaxed) { endAfterFlush() }
    }

    /// Ends the channel after an attempt to write what is enqueued.
    ///
    /// If another thread is writing, the write of that thread is the attempt, and that thread ends the channel.
    func flushAndEnd(_ reason: ChannelEnd) {
        guard !isForked else { return }
        queueLock.withLock {
            if writing.endAfterFlush == nil { writing.endAfterFlush = reason }
            endsAfterFlush.store(true, ordering: .relaxed)
        }
        flush()
    }

    @inline(never)
    private func endAfterFlush() {
        let held = queueLock.lock()
        let reason = writing.output.isFlushing ? nil : writing.endAfterFlush.take()
        if reason != nil { endsAfterFlush.store(false, ordering: .relaxed) }
        queueLock.unlock(held)
        if let reason { end(reason) }
    }

    /// How many bytes the calling thread may write now.
    ///
    /// The loop has other channels to serve. Another thread writes what is enqueued now, which includes its own frames,
    /// and a little more. The thread does not write all that others enqueue meanwhile, because that may never end.
    @inline(__always)
    private func portion(_ held: borrowing Held<WriteState>) -> Int {
        LoopThread.current != nil ? Self.budget : Self.budget + writing.queue.queuedBytes
    }

    private func flushQueue(isWritable: Bool) {
        guard !isForked else { return }
        var held = queueLock.lock()
        let wasBlocked = isBlocked.load(ordering: .relaxed)
        let action = writing.output.beginFlush(
            isWritable: isWritable, isBlocked: wasBlocked && !writing.mayPassPieces,
            canWrite: writing.canWrite)
        if case .none = action {
            queueLock.unlock(held)
            return
        }
        // The flag is stored only when it changes: the store costs as much as a lock.
        if wasBlocked { isBlocked.store(false, ordering: .sequentiallyConsistent) }
        // The poller may have been asked to report room just after it had done so. Because of this flag, the end of the
        // flush withdraws that request.
        if isWritable { writing.hasInterest = true }
        guard case .write = action else { return settle(unlocking: held) }
        var budget = portion(held)
        while true {
            if !writing.blobOffers.isEmpty {
                sendBlobOffers(&held)
                if writing.output.isClosed || !writing.queue.canWrite {
                    writing.output.endFlush()
                    return settle(unlocking: held)
                }
            }
            let outcome =
                writing.hasOnlyFrames
                ? writeFrames(unlocking: held, &budget) : writeOnce(unlocking: held, &budget)
            switch outcome {
            case .more:
                held = queueLock.lock()
                // After the end of the channel nothing is written.
                if !writing.output.isClosed, budget > 0 { continue }
                writing.output.endFlush()
                if writing.output.isClosed { return settle(unlocking: held) }
                queueLock.unlock(held)
                loop.schedule(.flush, on: self)
            case .done: break
            case .blocked: settleWriteInterest()
            case .failed(let number): failWriting(number)
            }
            return
        }
    }

    /// Does what `writeOnce` does, for the most frequent case: only whole frames, in one piece of memory.
    @inline(__always)
    private func writeFrames(unlocking held: consuming Held<WriteState>, _ budget: inout Int) -> Outcome {
        let frames = writing.queue.planOnlyFrames()
        let shared = writing.output.isShared ? sharedMemory : nil
        let content = writing.content
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: frames.baseAddress), iov_len: frames.count)
        let written = queueLock.unlocked(&held) {
            shared?.write(&vector, 1, bound: sizes.value.ring, content: content)
                ?? link.send(&vector, 1, [], withCredentials: false)
        }
        writing.queue.advanceOnlyFrames(max(0, written))
        if written == frames.count, writing.isQuiet, !frameQueueIsFull.load(ordering: .relaxed) {
            writing.content = []
            writing.output.endFlush()
            queueLock.unlock(held)
            return .done
        }
        let spent = writing.queue.takeSpent()
        defer { withExtendedLifetime(spent) {} }
        budget -= max(Self.smallestCost, written)
        return settleWrite(unlocking: held, written, frames.count)
    }

    /// The result of a write, and objects that the caller frees without the lock.
    private struct Attempt {
        var planned = 0
        var written = 0
        /// Bytes copied into a region.
        var copied = 0
        var sent: [CInt] = []
        /// The descriptors of frames that are sent without them.
        var withdrawn: [CInt]?
        var spent: [AnyObject] = []
    }

    /// Makes one system call.
    ///
    /// Unless the result is `.more`, the flush is over, and the queue is no longer marked as being flushed.
    private func writeOnce(unlocking held: consuming Held<WriteState>, _ budget: inout Int) -> Outcome {
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
        if writing.queue.passBoundary() { shareOutput(held) }
        let outcome = settleWrite(unlocking: held, attempt.written, attempt.planned)
        for descriptor in attempt.sent { port_close(descriptor) }
        return outcome
    }

    private func attemptWrite(_ held: inout Held<WriteState>, _ vectors: UnsafeMutablePointer<iovec>) -> Attempt {
        var fragments = OutboundQueue.maximumFragments
        if let messages = writing.queue.large, let message = writing.queue.firstMessage {
            fragments = writing.madeLarge().pacing.fragments(
                link, message: message, takesPieces: messages.takesPieces,
                enqueued: writing.queue.lastNumber, read: framesRead.load(ordering: .relaxed))
        }
        let shared = writing.output.isShared ? sharedMemory : nil
        let room = messageRoom(shared, held)
        let plan = writing.queue.plan(vectors, fragments: fragments, pieceSize: pieceSize(room, held))
        let withCredentials = writing.sendsCredentials
        let bound = writing.large?.pacing.sharedBound(sizes.value) ?? sizes.value.ring
        let content = writing.content
        let descriptorFrames = plan.descriptorFrames
        var attempt = Attempt(planned: plan.bytes)
        writing.waitsForPiece = plan.bytes == 0
        if case .broken = room {
            attempt.written = -Int(EPROTO)
        } else if plan.bytes == 0 {
            // No piece of the region is free.
            attempt.written = -Int(EAGAIN)
        } else {
            if let piece = plan.piece { attempt.copied = piece.payload }
            attempt.written = queueLock.unlocked(&held) {
                guard let shared else {
                    return link.send(vectors, plan.vectors, plan.descriptors, withCredentials: withCredentials)
                }
                if let piece = plan.piece, case .piece(let target) = room {
                    plan.message?.copy(piece.payload, to: target)
                    shared.pieceIsFilled()
                }
                let written = shared.write(vectors, plan.vectors, bound: bound, content: content)
                if case .stream = room, plan.takesPieces { offerRegion(shared, written) }
                return written
            }
        }
        if attempt.written > 0, withCredentials { writing.sendsCredentials = false }
        attempt.sent = writing.queue.advance(plan, written: max(0, attempt.written))
        attempt.spent = writing.queue.takeSpent()
        if attempt.written < 0, descriptorFrames > 0, Self.mayBeOfDescriptors(attempt.written) {
            attempt.withdrawn = writing.queue.withdrawDescriptors(ofFirst: descriptorFrames)
        }
        return attempt
    }

    /// Whether a write may have failed because of the descriptors that it carried.
    ///
    /// Errors that say that the peer is gone, or reads too slowly, do not count. Any other error comes again when the
    /// frames are sent without descriptors, unless the descriptors caused it.
    private static func mayBeOfDescriptors(_ result: Int) -> Bool {
        ![EAGAIN, EWOULDBLOCK, EPIPE, ECONNRESET, ENOTCONN].contains(CInt(-result))
    }

    /// Whether there is room that the owner waits for; if so, the owner no longer waits.
    private func takeRoom(_ held: borrowing Held<WriteState>) -> Bool {
        var hasRoom = false
        if frameQueueIsFull.load(ordering: .relaxed), writing.queue.unsentOwnFrames <= Int(unsentFrames / 2) {
            frameQueueIsFull.store(false, ordering: .relaxed)
            hasRoom = true
        }
        if let large = writing.large, let mark = large.mark, writing.queue.unsentOwnMessages <= mark {
            large.mark = nil
            hasRoom = true
        }
        return hasRoom
    }

    /// Settles the result of a write.
    private func settleWrite(unlocking held: consuming Held<WriteState>, _ written: Int, _ planned: Int) -> Outcome {
        var notifies = false
        if let mark = writing.answerMark, writing.queue.unsentAnswers <= mark {
            writing.answerMark = nil
            notifies = true
        }
        if takeRoom(held) { notifies = true }
        defer { if notifies { loop.schedule(.notify, on: self) } }
        if written < 0, written != -Int(EAGAIN), written != -Int(EWOULDBLOCK) {
            writing.output.endFlush()
            if writing.output.isClosed {
                settle(unlocking: held)
                return .done
            }
            queueLock.unlock(held)
            return .failed(CInt(-written))
        }
        if writing.output.isClosed {
            writing.output.endFlush()
            settle(unlocking: held)
            return .done
        }
        if written < planned {
            // A write into the ring takes at most as many bytes as the ring holds, so a short write does not mean that
            // the ring is full.
            let hasRoom = writing.output.isShared && sharedMemory?.awaitsRoom.load(ordering: .relaxed) == false
            switch writing.output.cutShort(hasRoom: hasRoom) {
            case .writeAgain:
                queueLock.unlock(held)
                return .more
            case .block:
                isBlocked.store(true, ordering: .sequentiallyConsistent)
                writing.hasInterest = true
                queueLock.unlock(held)
                return .blocked
            }
        }
        if writing.canWrite {
            queueLock.unlock(held)
            return .more
        }
        writing.output.endFlush()
        settle(unlocking: held)
        return .done
    }

    /// Does what has to follow once no thread writes and nothing more can be written.
    private func settle(unlocking held: consuming Held<WriteState>) {
        if writing.output.isClosed { return settleClosed(unlocking: held) }
        guard writing.queue.isEmpty else {
            // Only large messages that wait for credit are left.
            let hadInterest = writing.hasInterest
            writing.hasInterest = false
            queueLock.unlock(held)
            if hadInterest { settleWriteInterest() }
            return
        }
        writing.rest(link)
        let actions = writing.output.queueIsEmpty()
        let hadInterest = writing.hasInterest
        writing.hasInterest = false
        queueLock.unlock(held)
        if hadInterest { settleWriteInterest() }
        if actions.contains(.finishOutput) { finishOutput() }
        if actions.contains(.endChannel) { end(.endOfFile) }
    }

    /// Discards what is not written.
    ///
    /// The function is called once for a channel.
    func settleClosed(unlocking held: consuming Held<WriteState>) {
        let descriptors = writing.queue.discard() + writing.takeBlobOffers()
        let spent = writing.queue.takeSpent()
        let timer = writing.large?.regionTimer.take()
        queueLock.unlock(held)
        if let timer { loop.cancelTimer(timer) }
        for descriptor in descriptors { port_close(descriptor) }
        withExtendedLifetime(spent) {}
        leave(.output)
    }

    /// The peer no longer reads: reads what it has sent, then ends the channel.
    private func failWriting(_ number: CInt) {
        let held = queueLock.lock()
        let action = writing.output.fail()
        if case .none = action { return queueLock.unlock(held) }
        settle(unlocking: held)
        settleWriteInterest()
        switch action {
        case .none: break
        case .endWithViolation: end(.failed(SharedMemoryTransport.invalidCounters))
        case .endOfFile: end(.endOfFile)
        case .drain:
            gate.withLock { gated.writeError = number }
            loop.schedule(.drain, on: self)
        }
    }
}
