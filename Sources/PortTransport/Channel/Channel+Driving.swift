internal import CPortShims
internal import Synchronization

extension Channel {
    /// Reads on the calling thread until `done` answers true, the monotonic clock shows `deadline` (nil: never) or the
    /// channel ends.
    ///
    /// While another thread reads, it waits. `done` is called with no lock held, after every delivery and every
    /// `signalDrivers`. Frames are delivered on this thread (`receive`, then `turnEnded(onLoop: false)`), but that of shared
    /// memory the loop reads, too, and above all what is no answer: who acts on its deliveries signals.
    ///
    /// What the reading takes, a poller above all, is there before anything is written; where the system has none left the
    /// thread waits without one, and the loop reads.
    ///
    /// - Parameter flushing: What is enqueued is written once the thread is ready for what answers it.
    /// - Throws: `wouldBlockLoop` on a loop's thread, which must read itself; `forked` in a child.
    package func driveReading(
        until done: () -> Bool, deadline: UInt64?, flushing: Bool = false
    ) throws(TransportError) -> DriveResult {
        guard LoopThread.current == nil else {
            throw TransportError(.wouldBlockLoop, "A blocking call would stop the loop that its answer comes from.")
        }
        guard !isForked else {
            throw TransportError(.forked, "The connection was made before fork and belongs to the parent process.")
        }
        var owesFlush = flushing
        var mayRead = true
        while true {
            let signals = driverSignals.load(ordering: .acquiring)
            if done() { return .done }
            gate.lock()
            // Its end is told on the loop, for which nobody waits here.
            if gated.pointee.isOver || gated.pointee.end != nil {
                gate.unlock()
                return .ended
            }
            guard driverSignals.load(ordering: .relaxed) == signals else {
                gate.unlock()
                continue
            }
            if mayRead, !gated.pointee.seat.isTaken, !gated.pointee.inputEnded {
                guard let tools = takeSeatAndUnlock() else {
                    mayRead = false
                    continue
                }
                if owesFlush { flush() }
                defer { leaveSeat(tools) }
                return drive(tools, done, deadline)
            }
            if owesFlush {
                gate.unlock()
                owesFlush = false
                flush()
                continue
            }
            gated.pointee.seat.waiting += 1
            let inTime = gated.pointee.seat.wait(gate, until: deadline)
            gated.pointee.seat.waiting -= 1
            gate.unlock()
            if !inTime { return done() ? .done : .deadlineExceeded }
        }
    }

    /// Makes the calling thread the one that reads.
    ///
    /// Called with the gate held, which it releases.
    /// - Returns: Nil if the system has nothing left to wait with; then all is as before.
    private func takeSeatAndUnlock() -> DriverTools? {
        gated.pointee.seat.isTaken = true
        // Of shared memory the loop may read beside this thread.
        let isAlone = !gated.pointee.inputIsShared
        if isAlone {
            // Off already when the seat was left a moment ago.
            setReadInterest(false)
            countRow()
        }
        // They stay in the seat as long as it was left with the loop kept away.
        let kept = gated.pointee.seat.tools.take()
        gate.unlock()
        // An event that the loop was told of before must not make it a second reader; within a row it is none already.
        if isAlone, kept == nil { shutOutLoop() }
        if !isAlone { path?.beginAwaiting() }
        guard let tools = kept ?? DriverTools.take() else {
            leaveSeat(nil)
            return nil
        }
        if isAlone, case .memory = link { return tools }
        if isAlone, !tools.watch(link.inputDescriptor) {
            leaveSeat(nil)
            tools.giveBack()
            return nil
        }
        return tools
    }

    /// Makes the calling thread the only reader, unless the input has moved to shared memory a moment ago.
    private func shutOutLoop() {
        withReadLock { if !reading.pointee.isShared { reading.pointee.isDriven = true } }
    }

    /// To be called when something may have become true that a driving thread waits for; allowed under any lock.
    package func signalDrivers() {
        guard !isForked else { return }
        gate.withLock { signalSeat() }
    }

    /// As `signalDrivers`, with the gate held.
    func signalSeat() {
        driverSignals.store(driverSignals.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        gated.pointee.seat.signal()
    }

    /// Counts the signals so far.
    package var signals: UInt64 { driverSignals.load(ordering: .acquiring) }

    /// Waits until there is another signal than the first so many, without reading; for a thread that `driveReading` has
    /// told of the end.
    ///
    /// - Returns: False at the deadline.
    package func awaitSignal(after count: UInt64, until deadline: UInt64?) -> Bool {
        gate.withLock {
            while driverSignals.load(ordering: .relaxed) == count {
                guard gated.pointee.seat.wait(gate, until: deadline) else { return false }
            }
            return true
        }
    }

    /// Why the channel ends, if it does; nothing is delivered once this has said so.
    package func endOfInput() -> ChannelEnd? {
        guard !isForked, let end = gate.withLock({ gated.pointee.end }) else { return nil }
        withReadLock { reading.pointee.isEnded = true }
        return end
    }

    /// How soon after another a blocking call has to begin to count as the next of a row, and how many make one.
    private static let rowGap: UInt64 = 200_000
    private static let rowLength = 3

    /// Counts the calls that follow each other at once.
    ///
    /// Called with the gate held.
    private func countRow() {
        let now = monotonicNow()
        let isSoon = now &- gated.pointee.seat.enteredAt < Self.rowGap
        gated.pointee.seat.enteredAt = now
        gated.pointee.seat.streak = isSoon ? gated.pointee.seat.streak + 1 : 0
    }

    /// Whether the loop's interest may stay off after a row of blocking calls, which saves two system calls each; the
    /// watchdog turns it on at its second tick from then, so nothing is left unread longer than that.
    ///
    /// Called by the thread in the seat, the only one to change how long the row is.
    private var maySitOn: Bool {
        guard gated.pointee.seat.streak >= Self.rowLength, eventLoopReference != nil else { return false }
        if case .memory = link { return false }
        return true
    }

    /// Called with the gate held.
    private func linger() {
        guard !gated.pointee.seat.lingers, let eventLoopReference else { return }
        gated.pointee.seat.lingers = true
        eventLoopReference._withUnsafeGuaranteedRef { $0.linger(self) }
    }

    /// From the watchdog: whether the channel still lingers.
    ///
    /// Otherwise the loop reads it again.
    func isStillLingering() -> Bool {
        // The thread that has it may be held in the kernel.
        guard readLock.tryLock() else { return true }
        gate.lock()
        let isUsed = gated.pointee.seat.isTaken || monotonicNow() &- gated.pointee.seat.enteredAt < 1_000_000
        if isUsed, !gated.pointee.isOver, gated.pointee.end == nil {
            gate.unlock()
            unlockReading()
            return true
        }
        gated.pointee.seat.lingers = false
        let tools = gated.pointee.seat.tools.take()
        if !gated.pointee.seat.isTaken {
            reading.pointee.isDriven = false
            if !gated.pointee.inputEnded, gated.pointee.end == nil { setReadInterest(true) }
        }
        gate.unlock()
        unlockReading()
        tools?.giveBack()
        return false
    }

    /// What a wait of the thread in the seat came to.
    private enum Wait {
        /// There is input, or was.
        case input
        /// There may be input in memory shared with the peer, which does not tell of the end.
        case memory
        /// The condition may have become true.
        case changed
        case deadlineExceeded
        case ended
    }

    private func drive(_ tools: DriverTools, _ done: () -> Bool, _ deadline: UInt64?) -> DriveResult {
        /// When the thread last looked whether the peer has gone, or found for the first time that it had nothing to read.
        var looked: UInt64?
        while true {
            let signals = driverSignals.load(ordering: .acquiring)
            if done() { return .done }
            var wait = waitForInput(tools, signals, deadline)
            switch wait {
            case .input:
                wait = readForDriver(tools, isPolling: false)
            case .memory:
                wait = readForDriver(tools, isPolling: false)
                if case .input = wait, isTimeToLook(&looked) { wait = lookForEnd(tools) }
            default: break
            }
            switch wait {
            case .input, .memory, .changed: break
            case .deadlineExceeded: return done() ? .done : .deadlineExceeded
            case .ended: return done() ? .done : .ended
            }
        }
    }

    /// Whether the peer may have gone: for the longest sleep nothing has come from the memory shared with it.
    ///
    /// Called only where a read gave nothing, so that a call which is answered soon costs no look at the clock. The time is
    /// measured, and not whether the sleep was over in time, because a peer can wake the thread as often as it likes.
    private func isTimeToLook(_ looked: inout UInt64?) -> Bool {
        let now = monotonicNow()
        guard let last = looked else {
            looked = now
            return false
        }
        guard now &- last >= UInt64(SharedPath.longestSleep) else { return false }
        looked = now
        return true
    }

    /// Asks the socket beside shared memory whether the peer has gone: `.changed` if it has left frames, `.input` if not.
    ///
    /// The loop does the same when the poller tells it. While all of its threads are in methods that block nobody polls, and
    /// this thread is the only one to find the end.
    private func lookForEnd(_ tools: DriverTools) -> Wait {
        readLock.lock()
        guard let (outcome, handler) = readSocketAndUnlock(tools.context) else { return .input }
        handler?.turnEnded(onLoop: false)
        settle(outcome)
        return handler == nil ? .input : .changed
    }

    /// Reads once: `.changed` if frames were delivered, `.input` if not.
    private func readForDriver(_ tools: DriverTools, isPolling: Bool) -> Wait {
        readLock.lock()
        // A thread is told of answers, and has its own way to wish for that.
        reading.pointee.isPolled = isPolling || reading.pointee.isShared
        guard !reading.pointee.isEnded, let handler = reading.pointee.handler else {
            unlockReading()
            return .ended
        }
        let before = framesRead.load(ordering: .relaxed)
        let outcome = readOnce(tools.context, handler)
        let delivered = framesRead.load(ordering: .relaxed) != before
        unlockReading()
        if delivered { handler.turnEnded(onLoop: false) }
        settle(outcome)
        return delivered ? .changed : .input
    }

    /// Waits until there is input, or a reason to look at the condition again.
    private func waitForInput(_ tools: DriverTools, _ signals: UInt64, _ deadline: UInt64?) -> Wait {
        if let deadline, monotonicNow() >= deadline { return .deadlineExceeded }
        if let found = poll(tools, signals, until: deadline) { return found }
        gate.lock()
        if gated.pointee.end != nil {
            gate.unlock()
            return .ended
        }
        if driverSignals.load(ordering: .relaxed) != signals {
            gate.unlock()
            return .changed
        }
        if case .memory(let end) = link {
            gate.unlock()
            if end.isReadable { return .input }
            gate.lock()
            defer { gate.unlock() }
            guard driverSignals.load(ordering: .relaxed) == signals else { return .input }
            return gated.pointee.seat.wait(gate, until: deadline) ? .input : .deadlineExceeded
        }
        let time = deadline.map(Self.nanoseconds(until:)) ?? -1
        if gated.pointee.inputIsShared, let path {
            gated.pointee.seat.awaitingAnswer = Unmanaged.passUnretained(path)
            gate.unlock()
            let hasInput = withReadLock { path.hasInputOrAwaitsAnswer() }
            if !hasInput, driverSignals.load(ordering: .acquiring) == signals { path.awaitAnswer(time) }
            gate.withLock { gated.pointee.seat.awaitingAnswer = nil }
            return .memory
        }
        gated.pointee.seat.sleeping = Unmanaged.passUnretained(tools)
        gate.unlock()
        let isReady = tools.wait(time) >= 0
        gate.withLock { gated.pointee.seat.sleeping = nil }
        return isReady ? .input : .ended
    }

    private static func nanoseconds(until deadline: UInt64) -> Int64 {
        let now = monotonicNow()
        return deadline > now ? Int64(clamping: deadline - now) : 0
    }

    /// Looks for input without sleeping, if the loop does; nil when the time for that is over.
    ///
    /// To read costs less than to ask the poller, where it may be tried.
    private func poll(_ tools: DriverTools, _ signals: UInt64, until deadline: UInt64?) -> Wait? {
        guard let spin = eventLoop?.spinNanoseconds.load(ordering: .relaxed), spin > 0 else { return nil }
        if case .memory = link { return nil }
        // An end from now on changes the signals.
        if gate.withLock({ gated.pointee.end != nil }) { return .ended }
        var spinning = Spinning(for: min(spin, deadline.map { UInt64(Self.nanoseconds(until: $0)) } ?? .max))
        repeat {
            if isSocket {
                let wait = readForDriver(tools, isPolling: true)
                guard case .input = wait else { return wait }
            } else if tools.wait(0) != 0 {
                return .input
            }
            if driverSignals.load(ordering: .relaxed) != signals { return .changed }
        } while spinning.goesOn()
        return nil
    }

    /// As `leaveSeat`, where the loop reads, too.
    private func leaveSharedSeat(_ tools: DriverTools?) {
        // What this thread was told of and has not read the loop must read.
        let hasInput = withReadLock { path?.hasInputAfterAwaiting() ?? false }
        gate.lock()
        gated.pointee.seat.isTaken = false
        if gated.pointee.seat.waiting > 0 { signalSeat() }
        if hasInput, let eventLoop { tellBellAgain(eventLoop) }
        gate.unlock()
        tools?.giveBack()
        leaveIfOver()
    }

    /// Gives the seat to a thread that waits for it, or reading back to the loop.
    private func leaveSeat(_ tools: DriverTools?) {
        if gate.withLock({ gated.pointee.inputIsShared }) { return leaveSharedSeat(tools) }
        let sitsOn = tools != nil && maySitOn
        if !sitsOn { withReadLock { reading.pointee.isDriven = false } }
        var unused = tools
        gate.lock()
        gated.pointee.seat.isTaken = false
        var schedulesRead = false
        if gated.pointee.seat.waiting > 0 { signalSeat() }
        if !gated.pointee.inputEnded, gated.pointee.end == nil {
            if sitsOn {
                linger()
                swap(&gated.pointee.seat.tools, &unused)
            } else {
                setReadInterest(true)
            }
            if case .memory = link, !gated.pointee.readScheduled {
                gated.pointee.readScheduled = true
                schedulesRead = true
            }
        }
        gate.unlock()
        unused?.giveBack()
        if schedulesRead { loop.schedule(.read, on: self) }
        leaveIfOver()
    }
}
