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
        queueLock.lock()
        let reason = writing.pointee.isFlushing ? nil : writing.pointee.endAfterFlush.take()
        if reason != nil { endsAfterFlush.store(false, ordering: .relaxed) }
        queueLock.unlock()
        if let reason { end(reason) }
    }

    /// What the calling thread may write now.
    ///
    /// The loop has others to serve. Another thread writes what it finds, its own frames among it, and a little more: not all
    /// that others enqueue meanwhile, which can go on without end.
    ///
    /// Called with the queue's lock held.
    @inline(__always)
    private var portion: Int {
        LoopThread.current != nil ? Self.budget : Self.budget + writing.pointee.queue.queuedBytes
    }

    private func flushQueue(isWritable: Bool) {
        guard !isForked else { return }
        queueLock.lock()
        if writing.pointee.isFlushing {
            if isWritable { writing.pointee.retry = true }
            queueLock.unlock()
            return
        }
        if writing.pointee.isClosed || (isBlocked.load(ordering: .relaxed) && !isWritable) {
            queueLock.unlock()
            return
        }
        // Only when it changes: the store costs as much as a lock.
        if isBlocked.load(ordering: .relaxed) { isBlocked.store(false, ordering: .sequentiallyConsistent) }
        // Whoever asked the poller may have done so after the answer; then it is asked no longer from here.
        if isWritable { writing.pointee.hasInterest = true }
        guard writing.pointee.queue.canWrite else { return settleAndUnlock() }
        writing.pointee.isFlushing = true
        var budget = portion
        while true {
            let outcome = writing.pointee.isLaneOnly ? writeLaneAndUnlock(&budget) : writeOnceAndUnlock(&budget)
            switch outcome {
            case .more:
                queueLock.lock()
                // Its end may have been told: nothing is written after that.
                if !writing.pointee.isClosed, budget > 0 { continue }
                writing.pointee.isFlushing = false
                if writing.pointee.isClosed { return settleAndUnlock() }
                queueLock.unlock()
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
    private func writeLaneAndUnlock(_ budget: inout Int) -> Outcome {
        let lane = writing.pointee.queue.planOnlyLane()
        let shared = writing.pointee.isShared ? path : nil
        let content = writing.pointee.content
        queueLock.unlock()
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: lane.baseAddress), iov_len: lane.count)
        let written =
            shared?.write(&vector, 1, bound: SharedPath.capacity, content: content)
            ?? link.send(&vector, 1, [], withCredentials: false)
        queueLock.lock()
        writing.pointee.queue.advanceOnlyLane(max(0, written))
        if written == lane.count, writing.pointee.isQuiet, !laneIsFull.load(ordering: .relaxed) {
            writing.pointee.content = []
            writing.pointee.isFlushing = false
            queueLock.unlock()
            return .done
        }
        let spent = writing.pointee.queue.takeSpent()
        defer { withExtendedLifetime(spent) {} }
        budget -= max(Self.smallestCost, written)
        return settleWrite(written, lane.count)
    }

    /// One system call.
    ///
    /// Called with the lock held, and released meanwhile and at the end. Unless the answer is `.more`, the flush is
    /// over and its mark is taken away.
    private func writeOnceAndUnlock(_ budget: inout Int) -> Outcome {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: OutboundQueue.maximumVectors) { buffer in
            let vectors = buffer.baseAddress.unsafelyUnwrapped
            var units = OutboundQueue.maximumUnits
            if let message = writing.pointee.queue.firstBulk {
                units = writing.pointee.pacing.units(
                    link, message: message, enqueued: writing.pointee.queue.lastNumber,
                    read: framesRead.load(ordering: .relaxed))
            }
            let plan = writing.pointee.queue.plan(vectors, units: units)
            let withCredentials = writing.pointee.sendsCredentials
            let shared = writing.pointee.isShared ? path : nil
            let bound = writing.pointee.pacing.sharedBound
            let content = writing.pointee.content
            queueLock.unlock()

            let planned = plan.bytes
            let descriptorFrames = plan.descriptorFrames
            let written =
                shared?.write(vectors, plan.vectors, bound: bound, content: content)
                ?? link.send(vectors, plan.vectors, plan.descriptors, withCredentials: withCredentials)

            queueLock.lock()
            if written > 0, withCredentials { writing.pointee.sendsCredentials = false }
            let sent = writing.pointee.queue.advance(plan, written: max(0, written))
            let spent = writing.pointee.queue.takeSpent()
            defer { withExtendedLifetime(spent) {} }
            budget -= max(Self.smallestCost, written)
            if written < 0, descriptorFrames > 0, Self.mayBeOfDescriptors(written),
                let withdrawn = writing.pointee.queue.withdrawDescriptors(ofFirst: descriptorFrames)
            {
                queueLock.unlock()
                for descriptor in withdrawn { port_close(descriptor) }
                pathWasWithdrawn()
                return .more
            }
            if writing.pointee.queue.passBoundary() { shareOutput() }
            let outcome = settleWrite(written, planned)
            for descriptor in sent { port_close(descriptor) }
            return outcome
        }
    }

    /// Whether a write may have failed because of the descriptors that it carried.
    ///
    /// What says that the peer is gone, or reads too slowly, does not; any other error comes again without them if it was
    /// not theirs.
    private static func mayBeOfDescriptors(_ result: Int) -> Bool {
        ![EAGAIN, EWOULDBLOCK, EPIPE, ECONNRESET, ENOTCONN].contains(CInt(-result))
    }

    /// Whether there is room again that the owner waits for.
    private func takeRoom() -> Bool {
        var hasRoom = false
        if laneIsFull.load(ordering: .relaxed), writing.pointee.queue.unsentOwnFrames <= unsentFrames / 2 {
            laneIsFull.store(false, ordering: .relaxed)
            hasRoom = true
        }
        if let mark = writing.pointee.bulkMark, writing.pointee.queue.unsentOwnBulk <= mark {
            writing.pointee.bulkMark = nil
            hasRoom = true
        }
        return hasRoom
    }

    /// Called with the queue's lock held, which it releases.
    private func settleWrite(_ written: Int, _ planned: Int) -> Outcome {
        var tells = false
        if let mark = writing.pointee.answerMark, writing.pointee.queue.unsentAnswers <= mark {
            writing.pointee.answerMark = nil
            tells = true
        }
        if takeRoom() { tells = true }
        defer { if tells { loop.schedule(.turn, on: self) } }
        if written < 0, written != -Int(EAGAIN), written != -Int(EWOULDBLOCK) {
            writing.pointee.isFlushing = false
            if writing.pointee.isClosed {
                settleAndUnlock()
                return .done
            }
            queueLock.unlock()
            return .failed(CInt(-written))
        }
        if writing.pointee.isClosed {
            writing.pointee.isFlushing = false
            settleAndUnlock()
            return .done
        }
        if written < planned {
            // No more than a ring goes into it at a time.
            let hasRoom = writing.pointee.isShared && path?.awaitsRoom.load(ordering: .relaxed) == false
            if writing.pointee.retry || hasRoom {
                writing.pointee.retry = false
                queueLock.unlock()
                return .more
            }
            isBlocked.store(true, ordering: .sequentiallyConsistent)
            writing.pointee.hasInterest = true
            writing.pointee.isFlushing = false
            queueLock.unlock()
            return .blocked
        }
        if writing.pointee.queue.canWrite {
            queueLock.unlock()
            return .more
        }
        writing.pointee.isFlushing = false
        settleAndUnlock()
        return .done
    }

    /// What has to follow when nobody writes and nothing can be written.
    ///
    /// Called with the lock held, which it releases.
    private func settleAndUnlock() {
        writing.pointee.retry = false
        if writing.pointee.isClosed { return settleClosed() }
        guard writing.pointee.queue.isEmpty else {
            // Large messages that wait for credit.
            let hadInterest = writing.pointee.hasInterest
            writing.pointee.hasInterest = false
            queueLock.unlock()
            if hadInterest { settleWriteInterest() }
            return
        }
        writing.pointee.content = []
        writing.pointee.pacing.rest(link)
        var finishes = false
        if writing.pointee.finishRequested, !writing.pointee.isFinished {
            writing.pointee.isFinished = true
            finishes = true
        }
        let ends = writing.pointee.isLastWrite
        let hadInterest = writing.pointee.hasInterest
        writing.pointee.hasInterest = false
        queueLock.unlock()
        if hadInterest { settleWriteInterest() }
        if finishes { finishOutput() }
        if ends { end(.endOfFile) }
    }

    /// Gives up what is not written.
    ///
    /// Called once, with the lock held, which it releases.
    func settleClosed() {
        let descriptors = writing.pointee.queue.discard()
        let spent = writing.pointee.queue.takeSpent()
        queueLock.unlock()
        for descriptor in descriptors { port_close(descriptor) }
        withExtendedLifetime(spent) {}
        leave()
    }

    /// The peer no longer reads.
    ///
    /// What it sent before is read first; then the channel ends.
    private func failWriting(_ number: CInt) {
        queueLock.lock()
        guard !writing.pointee.isClosed, !writing.pointee.isFlushing else { return queueLock.unlock() }
        let wasShared = writing.pointee.isShared
        writing.pointee.isClosed = true
        let ends = writing.pointee.endsWhenWritten
        settleAndUnlock()
        settleWriteInterest()
        if wasShared {
            end(.failed(SharedPath.nonsense))
        } else if ends {
            end(.endOfFile)
        } else {
            gate.withLock { gated.pointee.writeError = number }
            loop.schedule(.drain, on: self)
        }
    }
}
