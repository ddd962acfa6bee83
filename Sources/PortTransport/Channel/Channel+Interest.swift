internal import CPortShims
internal import Synchronization

extension Channel {
    /// Has the poller report room in the kernel, or no longer do so, depending on `isBlocked`.
    ///
    /// Call it after each change of `isBlocked`, on the thread that made the change. If two threads call it at once,
    /// the poller is left with the later state, whichever thread comes first.
    func settleWriteInterest() {
        guard let eventLoop, !isForked else { return }
        gate.withLock { setWriteInterest(eventLoop, $0) }
    }

    private func setWriteInterest(_ eventLoop: EventLoop, _ held: borrowing Held<GateState>) {
        let isOn = isBlocked.load(ordering: .sequentiallyConsistent)
        guard !gated.life.isOver, gated.output != .closed else { return }
        if gated.output == .shared {
            setDoorbell(eventLoop, held)
        } else if case .streams(_, let output) = link {
            let other = gated.outputInterest & ~UInt32(PORT_WRITABLE)
            setOutput(output.descriptor, isOn ? other | UInt32(PORT_WRITABLE) : other, eventLoop, held)
        } else {
            let other = gated.inputInterest & ~UInt32(PORT_WRITABLE)
            setInput(isOn ? other | UInt32(PORT_WRITABLE) : other, eventLoop, held)
        }
    }

    /// Has the loop read the input, or no longer do so.
    func setReadInterest(_ isOn: Bool, _ held: borrowing Held<GateState>) {
        guard let eventLoop, !gated.life.isOver else { return }
        if gated.input.isShared {
            let listened = gated.doorbellInterest ?? 0 != 0
            gated.wantsInput = isOn
            setDoorbell(eventLoop, held)
            // The doorbell may have rung for the blocking reader.
            if isOn, listened { rearmDoorbell(eventLoop, held) }
            return
        }
        let other = gated.inputInterest & UInt32(PORT_WRITABLE | PORT_HANG_UP)
        setInput(isOn ? other | readInterest(held) : other, eventLoop, held)
    }

    /// The interest with which the poller reports input.
    func readInterest(_ held: borrowing Held<GateState>) -> UInt32 {
        UInt32(PORT_READABLE) | (gated.readsWhole ? UInt32(PORT_EDGE) : 0)
    }

    /// Has the poller report input that may be left and that the poller would not report again by itself.
    @inline(never)
    func rearmInput() {
        guard let eventLoop else { return }
        gate.withLock { held in
            if gated.input.isShared { return rearmDoorbell(eventLoop, held) }
            let interest = gated.inputInterest
            guard !gated.life.isOver, interest & UInt32(PORT_EDGE) != 0 else { return }
            eventLoop.rearm(gated.inputSource, link.inputDescriptor, interest)
        }
    }

    /// Has the poller report again what may be left in the socket beside shared memory.
    func rearmSocket() {
        guard let eventLoop else { return }
        gate.withLock { held in
            guard !gated.life.isOver else { return }
            eventLoop.rearm(gated.inputSource, link.inputDescriptor, gated.inputInterest)
        }
    }

    func setInput(_ interest: UInt32, _ eventLoop: EventLoop, _ held: borrowing Held<GateState>) {
        let previous = gated.inputInterest
        guard gated.inputSource != 0 else {
            // The channel was written to before `start`. Nothing is read yet, but the loop has to know the descriptor.
            guard interest != 0 else { return }
            let source = try? eventLoop.addSource(link.inputDescriptor, interest: interest, self)
            gated.inputSource = source ?? 0
            gated.inputInterest = source == nil ? 0 : interest
            return
        }
        if previous == interest {
            // The kernel was full again. In between, the poller may already have reported room.
            let both = UInt32(PORT_WRITABLE) | UInt32(PORT_EDGE)
            guard interest & both == both else { return }
            eventLoop.rearm(gated.inputSource, link.inputDescriptor, interest)
            return
        }
        gated.inputInterest = interest
        eventLoop.changeSource(gated.inputSource, link.inputDescriptor, from: previous, to: interest)
    }

    private func setOutput(
        _ descriptor: CInt, _ interest: UInt32, _ eventLoop: EventLoop, _ held: borrowing Held<GateState>
    ) {
        let previous = gated.outputInterest
        guard previous != interest else { return }
        if gated.outputSource == 0 {
            guard let source = try? eventLoop.addSource(descriptor, interest: interest, self) else { return }
            gated.outputSource = source
        } else {
            eventLoop.changeSource(gated.outputSource, descriptor, from: previous, to: interest)
        }
        gated.outputInterest = interest
    }

    /// Has the poller report when the peer is gone, because the input is over and the output is not.
    func watchForHangUp() {
        let held = gate.lock()
        if let eventLoop, !gated.life.isOver, gated.output != .closed {
            let hangUp = UInt32(PORT_HANG_UP)
            switch link {
            case .socket: setInput(gated.inputInterest | hangUp, eventLoop, held)
            case .streams(_, let output):
                setOutput(output.descriptor, gated.outputInterest | hangUp, eventLoop, held)
            case .memory: break
            }
        }
        gate.unlock(held)
        // The peer may be gone already.
        noticeHangUp()
    }

    /// Ends a channel whose input is over, if the peer will not read its output.
    func noticeHangUp() {
        let held = gate.lock()
        var isGone = false
        if gated.input.isEnded, !gated.life.hasEnd, gated.output != .closed {
            if case .memory(let end) = link {
                isGone = end.isPeerClosed
            } else {
                isGone = port_is_hung_up(link.outputDescriptor)
            }
        }
        gate.unlock(held)
        if isGone { end(.endOfFile) }
    }

    /// Takes the output's descriptor from the poller.
    func forgetOutput(_ held: borrowing Held<GateState>) {
        guard let eventLoop, gated.outputSource != 0 else { return }
        eventLoop.removeSource(
            gated.outputSource, link.outputDescriptor, interest: gated.outputInterest)
        gated.outputSource = 0
        gated.outputInterest = 0
    }

    /// Takes everything from the poller.
    func forgetSources(_ held: borrowing Held<GateState>) {
        forgetOutput(held)
        guard let eventLoop, gated.inputSource != 0 else { return }
        forgetDoorbell(eventLoop, held)
        eventLoop.removeSource(gated.inputSource, link.inputDescriptor, interest: gated.inputInterest)
        gated.inputSource = 0
        gated.inputInterest = 0
    }

    /// Ends the output, after everything is written.
    func finishOutput() {
        if link.finishOutput() { return }
        let held = gate.lock()
        let isFirst = !gated.life.isOver && gated.output != .closed
        if isFirst {
            gated.output = .closed
            forgetOutput(held)
        }
        gate.unlock(held)
        // The peer decides how long this takes: closing a pipe waits for the threads that are in a system call with it.
        if isFirst { port_close(link.outputDescriptor) }
    }
}

extension Channel: MemoryLinkUser {
    func inputArrived() {
        let held = gate.lock()
        let isRead = gated.blockingReader.isReading
        let isNew = gated.life == .started && !isRead && !gated.readScheduled
        if isNew { gated.readScheduled = true }
        if isRead { signalReaders(held) }
        gate.unlock(held)
        if isNew { loop.schedule(.read, on: self) }
    }

    func outputPossible() { loop.schedule(.flush, on: self) }
}
