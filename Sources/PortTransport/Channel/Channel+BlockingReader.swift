internal import CPortShims
internal import Synchronization

extension Channel {
    /// Reads on the calling thread until `done` returns true, the monotonic clock shows `deadline` (nil: never) or the
    /// channel ends.
    ///
    /// While another thread reads, the calling thread waits. `done` is called with no lock held, after every delivery
    /// and every `signalBlockingReaders`. Frames are delivered on the calling thread: `receive`, then
    /// `deliveryEnded(onLoop: false)`. With shared memory the loop reads as well, mainly frames that are not answers. A
    /// thread that acts on frames delivered by the loop calls `signalBlockingReaders`.
    ///
    /// The thread gets the resources that it needs to read before anything is written.
    ///
    /// - Parameters:
    ///   - done: Whether the thread has what it waits for.
    ///   - deadline: The time of the monotonic clock when the wait ends; nil for no limit.
    ///   - flushing: Whether to write what is enqueued, once the thread is ready to read the answer.
    /// - Throws: `wouldBlockLoop` on a loop's thread, because the loop has to read; `forked` in a forked child.
    package func readWhileWaiting(
        until done: () -> Bool, deadline: UInt64?, flushing: Bool = false
    ) throws(TransportError) -> BlockingReadResult {
        guard LoopThread.current == nil else {
            throw TransportError(.wouldBlockLoop, "A blocking call would stop the loop that its answer comes from.")
        }
        guard !isForked else {
            throw TransportError(.forked, "The connection was made before fork and belongs to the parent process.")
        }
        var owesFlush = flushing
        while true {
            let signals = readerSignals.load(ordering: .acquiring)
            if done() { return .done }
            let held = gate.lock()
            // The loop delivers the end to the handler, and this thread does not wait until the loop has done so.
            if gated.life.hasEnd {
                gate.unlock(held)
                return .ended
            }
            guard readerSignals.load(ordering: .relaxed) == signals else {
                gate.unlock(held)
                continue
            }
            if !gated.blockingReader.isReading, !gated.input.isEnded {
                let resources = enter(unlocking: held)
                if owesFlush { flush() }
                defer { leaveBlockingReader(resources) }
                return read(with: resources, until: done, deadline)
            }
            if owesFlush {
                gate.unlock(held)
                owesFlush = false
                flush()
                continue
            }
            gated.blockingReader.calls.waiting += 1
            let inTime = waitForSignal(held, until: deadline)
            gated.blockingReader.calls.waiting -= 1
            gate.unlock(held)
            if !inTime { return done() ? .done : .deadlineExceeded }
        }
    }

    /// Makes the calling thread the blocking reader.
    func enter(unlocking held: consuming Held<GateState>) -> BlockingReaderResources {
        let action = gated.blockingReader.enter()
        // With shared memory the loop goes on reading beside this thread.
        let isAlone = !gated.input.isShared
        if isAlone {
            // The interest is off already if the input was reserved.
            setReadInterest(false, held)
            gated.blockingReader.countCall(at: monotonicNow())
        }
        let kept = gated.blockingReader.calls.resources.take()
        let session = gated.blockingReader.session
        gate.unlock(held)
        // The poller may have notified the loop of input before. The loop must not become a second reader.
        if isAlone, case .stopLoop = action { stopLoop() }
        if !isAlone { sharedMemory?.beginAwaiting() }
        let resources = kept ?? BlockingReaderResources.take()
        resources.session = session
        if isAlone, link.inputDescriptor >= 0 { resources.watch(link.inputDescriptor) }
        return resources
    }

    /// Makes the calling thread the only reader of the endpoint, unless the input has just moved to shared memory.
    private func stopLoop() {
        withReadLock { if !reading.input.isShared { reading.isLoopStopped = true } }
    }

    /// Has threads in `readWhileWaiting` check their condition; allowed under any lock.
    package func signalBlockingReaders() {
        guard !isForked else { return }
        gate.withLock { signalReaders($0) }
    }

    func signalReaders(_ held: borrowing Held<GateState>) {
        readerSignals.store(readerSignals.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        gated.blockingReader.signal()
    }

    /// Waits for a signal with the gate released; false at the deadline.
    private func waitForSignal(_ held: borrowing Held<GateState>, until deadline: UInt64?) -> Bool {
        gate.wait(for: gated.blockingReader.conditionToAwait(), held, until: deadline)
    }

    /// The number of signals so far.
    package var signals: UInt64 { readerSignals.load(ordering: .acquiring) }

    /// Waits for a signal after the first `count` signals, without reading; for a thread that has learned of the end
    /// from `readWhileWaiting`.
    ///
    /// - Returns: False at the deadline.
    package func awaitSignal(after count: UInt64, until deadline: UInt64?) -> Bool {
        gate.withLock { held in
            while readerSignals.load(ordering: .relaxed) == count {
                guard waitForSignal(held, until: deadline) else { return false }
            }
            return true
        }
    }

    /// Why the channel ends; nil if the channel does not end.
    ///
    /// After a result other than nil nothing more is delivered.
    package func endOfInput() -> ChannelEnd? {
        guard !isForked, let end = gate.withLock({ gated.end }) else { return nil }
        _ = withReadLock { reading.input.end() }
        return end
    }

    /// Whether the poller may go on without watching the input after the thread has left.
    private func mayReserve(_ resources: BlockingReaderResources) -> Bool {
        guard resources.session.mayReserve, eventLoopReference != nil else { return false }
        if case .memory = link { return false }
        return true
    }

    /// Whether the input is still reserved, or read by a thread; if not, the loop reads it again.
    ///
    /// The watchdog calls this.
    func isStillReserved() -> Bool {
        // The thread that has the lock may be held in the kernel.
        guard let readHeld = readLock.tryLock() else { return true }
        let held = gate.lock()
        let action = gated.blockingReader.expire(
            at: monotonicNow(), channelEnds: gated.life.hasEnd)
        if case .keep = action {
            gate.unlock(held)
            unlockReading(readHeld)
            return true
        }
        let resources = gated.blockingReader.calls.resources.take()
        if case .startLoop = action {
            reading.isLoopStopped = false
            if gated.mayRead { setReadInterest(true, held) }
        }
        gate.unlock(held)
        unlockReading(readHeld)
        resources?.giveBack()
        return false
    }

    /// The result of one wait of the blocking reader.
    enum Wait {
        /// There is input, or was.
        case input
        /// There may be input in shared memory. The end of the peer does not show there.
        case memory
        /// The condition may have become true.
        case changed
        case deadlineExceeded
        case ended
    }

    private func read(
        with resources: BlockingReaderResources, until done: () -> Bool, _ deadline: UInt64?
    ) -> BlockingReadResult {
        /// The time when the thread last checked whether the peer is gone; before that, when it first found nothing to
        /// read.
        var looked: UInt64?
        while true {
            let signals = readerSignals.load(ordering: .acquiring)
            if done() { return .done }
            var wait = waitForInput(resources, signals, deadline)
            switch wait {
            case .input:
                wait = readOnThread(resources, isPolling: false)
            case .memory:
                wait = readOnThread(resources, isPolling: false)
                if case .input = wait, isTimeToLook(&looked) { wait = lookForEnd(resources) }
            default: break
            }
            switch wait {
            case .input, .memory, .changed: break
            case .deadlineExceeded: return done() ? .done : .deadlineExceeded
            case .ended: return done() ? .done : .ended
            }
        }
    }

    /// Whether nothing has come from shared memory for as long as the longest sleep, so that the peer may be gone.
    ///
    /// The function is called only after a read that found nothing, so that a call that is answered soon does not read
    /// the clock. The time is measured: a sleep that ended early proves nothing, because a peer can wake the thread as
    /// often as it likes.
    private func isTimeToLook(_ looked: inout UInt64?) -> Bool {
        let now = monotonicNow()
        guard let last = looked else {
            looked = now
            return false
        }
        guard now &- last >= UInt64(SharedMemoryTransport.longestSleep) else { return false }
        looked = now
        return true
    }

    /// Asks the socket beside shared memory whether the peer is gone: `.changed` if the peer has left frames, `.input`
    /// if not.
    ///
    /// The loop does the same when the poller reports the end. But while all threads of the loop are in methods that
    /// block, only this thread can find the end.
    private func lookForEnd(_ resources: BlockingReaderResources) -> Wait {
        let held = readLock.lock()
        guard let (outcome, handler) = readSocket(resources.context, unlocking: held) else { return .input }
        handler?.deliveryEnded(onLoop: false)
        settle(outcome)
        return handler == nil ? .input : .changed
    }

    /// Reads once: `.changed` if frames were delivered, `.input` if not.
    func readOnThread(_ resources: BlockingReaderResources, isPolling: Bool) -> Wait {
        let held = readLock.lock()
        // In shared memory the peer wakes a blocking reader through `answerWaits`, so the peer need not ring the
        // doorbell.
        reading.isPolled = isPolling || reading.input.isShared
        guard !reading.input.isEnded, let handler = reading.handler else {
            unlockReading(held)
            return .ended
        }
        let before = framesRead.load(ordering: .relaxed)
        let outcome = readOnce(resources.context, handler, held)
        let delivered = framesRead.load(ordering: .relaxed) != before
        unlockReading(held)
        if delivered { handler.deliveryEnded(onLoop: false) }
        settle(outcome)
        return delivered ? .changed : .input
    }

    /// Waits until there is input, or a reason to check the condition again.
    private func waitForInput(_ resources: BlockingReaderResources, _ signals: UInt64, _ deadline: UInt64?) -> Wait {
        if let deadline, monotonicNow() >= deadline { return .deadlineExceeded }
        if let found = poll(resources, signals, until: deadline) { return found }
        let held = gate.lock()
        if gated.life.hasEnd {
            gate.unlock(held)
            return .ended
        }
        if readerSignals.load(ordering: .relaxed) != signals {
            gate.unlock(held)
            return .changed
        }
        if case .memory(let end) = link {
            gate.unlock(held)
            if end.isReadable { return .input }
            return gate.withLock { held in
                guard readerSignals.load(ordering: .relaxed) == signals else { return .input }
                return waitForSignal(held, until: deadline) ? .input : .deadlineExceeded
            }
        }
        let time = deadline.map(Self.nanoseconds(until:)) ?? -1
        if gated.input.isShared, let sharedMemory {
            gated.blockingReader.calls.awaitingAnswer = Unmanaged.passUnretained(sharedMemory)
            gate.unlock(held)
            let hasInput = withReadLock { sharedMemory.hasInputOrAwaitsAnswer() }
            if !hasInput, readerSignals.load(ordering: .acquiring) == signals { sharedMemory.awaitAnswer(time) }
            gate.withLock { gated.blockingReader.calls.awaitingAnswer = nil }
            return .memory
        }
        gated.blockingReader.calls.sleeping = Unmanaged.passUnretained(resources)
        gate.unlock(held)
        let isReady = resources.wait(time) >= 0
        gate.withLock { gated.blockingReader.calls.sleeping = nil }
        return isReady ? .input : .ended
    }

    static func nanoseconds(until deadline: UInt64) -> Int64 {
        let now = monotonicNow()
        return deadline > now ? Int64(clamping: deadline - now) : 0
    }

    /// Does what `leaveBlockingReader` does, for shared memory, which the loop reads as well.
    private func leaveSharedReader(_ resources: BlockingReaderResources) {
        // The peer may have notified this thread of input that this thread has not read. The loop has to read that
        // input.
        let hasInput = withReadLock { sharedMemory?.hasInputAfterAwaiting() ?? false }
        let held = gate.lock()
        gated.blockingReader.leave()
        if gated.blockingReader.calls.waiting > 0 { signalReaders(held) }
        if hasInput, let eventLoop { rearmDoorbell(eventLoop, held) }
        gate.unlock(held)
        resources.giveBack()
        leaveIfOver()
    }

    /// Ends the reading of the calling thread.
    ///
    /// A waiting thread may read next; if there is none, the loop does.
    func leaveBlockingReader(_ resources: BlockingReaderResources) {
        if readsSharedMemory.load(ordering: .acquiring) { return leaveSharedReader(resources) }
        let reserves = mayReserve(resources)
        if !reserves { withReadLock { reading.isLoopStopped = false } }
        var unused: BlockingReaderResources? = resources
        var schedulesRead = false
        let held = gate.lock()
        if reserves, gated.mayRead {
            if gated.blockingReader.leaveReserving() { watchReservation(held) }
            swap(&gated.blockingReader.calls.resources, &unused)
        } else {
            gated.blockingReader.leave()
            if gated.mayRead { setReadInterest(true, held) }
        }
        if gated.blockingReader.calls.waiting > 0 { signalReaders(held) }
        if case .memory = link, gated.mayRead, !gated.readScheduled {
            gated.readScheduled = true
            schedulesRead = true
        }
        gate.unlock(held)
        unused?.giveBack()
        if schedulesRead { loop.schedule(.read, on: self) }
        leaveIfOver()
    }

    private func watchReservation(_ held: borrowing Held<GateState>) {
        eventLoopReference?._withUnsafeGuaranteedRef { $0.watchReservation(of: self) }
    }
}
