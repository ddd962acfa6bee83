internal import CPortShims
internal import Synchronization

extension Channel {
    /// Reads on the calling thread until `done` answers true, the monotonic clock shows `deadline` (nil: never) or the
    /// channel ends.
    ///
    /// While another thread reads, it waits. `done` is called with no lock held, after every delivery and every
    /// `signalDrivers`. Frames are delivered on this thread (`receive`, then `turnEnded(onLoop: false)`).
    ///
    /// - Throws: `wouldBlockLoop` on a loop's thread, which must read itself; `forked` in a child.
    package func driveReading(until done: () -> Bool, deadline: UInt64?) throws(TransportError) -> DriveResult {
        guard LoopThread.current == nil else {
            throw TransportError(.wouldBlockLoop, "A blocking call would stop the loop that its answer comes from.")
        }
        guard !isForked else {
            throw TransportError(.forked, "The connection was made before fork and belongs to the parent process.")
        }
        gate.lock()
        while true {
            let generation = gated.pointee.seat.generation
            gate.unlock()
            if done() { return .done }
            gate.lock()
            if gated.pointee.isOver {
                gate.unlock()
                return .ended
            }
            if gated.pointee.seat.generation != generation { continue }
            if !gated.pointee.seat.isTaken, gated.pointee.end == nil, !gated.pointee.inputEnded { break }
            gated.pointee.seat.waiting += 1
            let inTime = gated.pointee.seat.wait(gate, until: deadline)
            gated.pointee.seat.waiting -= 1
            if !inTime {
                gate.unlock()
                return done() ? .done : .deadlineExceeded
            }
        }
        gated.pointee.seat.isTaken = true
        // Off already when the seat was left a moment ago.
        setReadInterest(false)
        gated.pointee.seat.enteredAt = monotonicNow()
        gate.unlock()
        defer { leaveSeat() }
        return try drive(done, deadline)
    }

    /// To be called when something may have become true that a driving thread waits for; allowed under any lock.
    package func signalDrivers() {
        guard !isForked else { return }
        gate.withLock { gated.pointee.seat.signal() }
    }

    /// How soon after another a blocking call has to begin to count as the next of a row, and how many make one.
    private static let rowGap: UInt64 = 200_000
    private static let rowLength = 3

    /// Leaves the loop's interest off after a row of blocking calls, which saves two system calls each; the watchdog
    /// turns it on at its second tick from now, so nothing is left unread longer than that.
    ///
    /// Called with the gate held.
    private func lingerInSeat() -> Bool {
        guard let eventLoop else { return false }
        let seat = gated.pointee.seat.enteredAt &- gated.pointee.seat.lastLeft
        gated.pointee.seat.streak = seat < Self.rowGap ? gated.pointee.seat.streak + 1 : 0
        gated.pointee.seat.lastLeft = monotonicNow()
        guard gated.pointee.seat.streak >= Self.rowLength else { return false }
        if !gated.pointee.seat.lingers {
            gated.pointee.seat.lingers = true
            eventLoop.linger(self)
        }
        return true
    }

    /// From the watchdog: whether the channel still lingers.
    ///
    /// Otherwise the loop reads it again.
    func endLingering() -> Bool {
        gate.lock()
        defer { gate.unlock() }
        let isUsed = gated.pointee.seat.isTaken || monotonicNow() &- gated.pointee.seat.lastLeft < 1_000_000
        if isUsed, !gated.pointee.isOver, gated.pointee.end == nil { return true }
        gated.pointee.seat.lingers = false
        if !gated.pointee.inputEnded, gated.pointee.end == nil { setReadInterest(true) }
        return false
    }

    private func drive(_ done: () -> Bool, _ deadline: UInt64?) throws(TransportError) -> DriveResult {
        readLock.withLock { reading.pointee.isDriven = true }
        let tools = try DriverTools.take()
        var alarmWasSet = false
        defer { tools.giveBack(wasSet: alarmWasSet) }
        while true {
            let generation = gate.withLock { gated.pointee.seat.generation }
            if done() { return .done }
            switch try waitForInput(tools.alarm, generation, deadline, &alarmWasSet) {
            case .deadlineExceeded: return done() ? .done : .deadlineExceeded
            case .ended: return done() ? .done : .ended
            case .done: break
            }
            readLock.lock()
            guard !reading.pointee.isEnded, let handler = reading.pointee.handler else {
                readLock.unlock()
                return done() ? .done : .ended
            }
            let before = framesRead.load(ordering: .relaxed)
            let outcome = readOnce(tools.context, handler)
            let delivered = framesRead.load(ordering: .relaxed) != before
            readLock.unlock()
            if delivered { handler.turnEnded(onLoop: false) }
            settle(outcome)
        }
    }

    /// Waits until there is input, or a reason to look at the condition again; both are `.done`.
    private func waitForInput(
        _ alarm: DriverAlarm, _ generation: UInt64, _ deadline: UInt64?, _ alarmWasSet: inout Bool
    ) throws(TransportError) -> DriveResult {
        if let deadline, monotonicNow() >= deadline { return .deadlineExceeded }
        gate.lock()
        if gated.pointee.end != nil {
            gate.unlock()
            return .ended
        }
        if gated.pointee.seat.generation != generation {
            gate.unlock()
            return .done
        }
        if case .memory(let end) = link {
            gate.unlock()
            if end.isReadable { return .done }
            gate.lock()
            defer { gate.unlock() }
            guard gated.pointee.seat.generation == generation else { return .done }
            return gated.pointee.seat.wait(gate, until: deadline) ? .done : .deadlineExceeded
        }
        gated.pointee.seat.alarm = alarm
        gate.unlock()
        let spin = eventLoop?.spinNanoseconds.load(ordering: .relaxed) ?? 0
        if spin > 0, pollForInput(alarm, min(spin, deadline.map { $0 &- monotonicNow() } ?? .max)) {
            gate.lock()
            gated.pointee.seat.alarm = nil
            if gated.pointee.seat.generation != generation { alarmWasSet = true }
            gate.unlock()
            return .done
        }
        var nanoseconds: Int64 = -1
        if let deadline {
            let now = monotonicNow()
            nanoseconds = deadline > now ? Int64(clamping: deadline - now) : 0
        }
        let bits = port_wait_one(link.inputDescriptor, UInt32(PORT_READABLE), alarm.descriptor, nanoseconds)
        gate.lock()
        gated.pointee.seat.alarm = nil
        if gated.pointee.seat.generation != generation { alarmWasSet = true }
        gate.unlock()
        return bits < 0 ? .ended : .done
    }

    /// Polls without sleeping; whether there is input, or the alarm is set.
    private func pollForInput(_ alarm: DriverAlarm, _ nanoseconds: UInt64) -> Bool {
        var spinning = Spinning(for: nanoseconds)
        repeat {
            if port_wait_one(link.inputDescriptor, UInt32(PORT_READABLE), alarm.descriptor, 0) != 0 { return true }
        } while spinning.goesOn()
        return false
    }

    /// Gives the seat to a thread that waits for it, or reading back to the loop.
    private func leaveSeat() {
        readLock.withLock { reading.pointee.isDriven = false }
        gate.lock()
        gated.pointee.seat.isTaken = false
        var schedulesRead = false
        if gated.pointee.seat.waiting > 0 { gated.pointee.seat.signal() }
        if !gated.pointee.inputEnded, gated.pointee.end == nil {
            if !lingerInSeat() { setReadInterest(true) }
            if case .memory = link, !gated.pointee.readScheduled {
                gated.pointee.readScheduled = true
                schedulesRead = true
            }
        }
        gate.unlock()
        if schedulesRead { loop.schedule(.read, on: self) }
        leaveIfOver()
    }
}
