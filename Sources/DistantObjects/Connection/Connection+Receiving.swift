import PortTransport
import Synchronization

// The channel's side: frames are entered in order on the reading thread; what they want done follows when the lock is free.
extension Connection: FrameHandler {
    package func receive(_ frame: borrowing InboundFrame) throws {
        // Whoever takes some opens them anew, and what nobody takes must not be kept.
        defer { Channel.closeForeign(frame.descriptors) }
        if frame.kind == FrameKind.hello.rawValue, state.withLock({ $0.phase == .handshake && $0.grants.message == 0 })
        {
            try receiveHello(frame)
            return
        }
        try state.withLock { state in
            let sent = state.sent
            do throws(ProtocolViolation) {
                try state.receive(frame, for: self)
                if isInitiator, frame.number & (state.busy.messages - 1) == 0 { state.noteTraffic(for: self) }
                if state.sent != sent { state.owesFlush = true }
            } catch {
                state.fail(error, to: channel)
                throw error
            }
        }
    }

    package func receive(bulk number: UInt64, _ bytes: ByteSlice?) throws {
        try state.withLock { state in
            do throws(ProtocolViolation) {
                try state.receive(bulk: number, bytes)
            } catch {
                state.fail(error, to: channel)
                throw error
            }
        }
    }

    /// Tells a peer that still reads which rule of the frames it broke.
    package func inputFailed(_ error: TransportError) {
        switch error.code {
        case .protocolViolation, .truncated:
            state.withLock { $0.commitGoodbye(.malformed, error.message, to: channel) }
        case .limitExceeded:
            state.withLock { $0.commitGoodbye(.overLimit, error.message, to: channel) }
        default: break
        }
    }

    package func turnEnded(onLoop: Bool) {
        let turn = state.withLock { state in
            let sent = state.sent
            if state.holdsCredit { state.giveBackHeldCredit(to: channel) }
            // Before it is looked whether calls wait that may start.
            state.lookAtAnswers(for: self)
            // The channel may have room again.
            if !state.pending.isEmpty { state.commitPending(to: channel) }
            state.waitingBytes.end()
            return EndOfTurn(
                completions: state.takeCompletions(), started: onLoop ? state.startNext(for: self) : nil,
                hasCalls: state.hasStartable, owesFlush: state.takeOwedFlush(since: sent))
        }
        // The method of a call may block.
        if turn.owesFlush { channel.setNeedsFlush() }
        perform(turn, onLoop: onLoop)
        guard onLoop else { return }
        flushReleases()
        channel.setNeedsFlush()
    }

    @inline(__always)
    private func perform(_ turn: consuming EndOfTurn, onLoop: Bool) {
        let hasCalls = turn.hasCalls
        let started = turn.started.take()
        turn.completions.perform(on: self, onLoop: onLoop)
        if let started {
            drain(from: started)
        } else if hasCalls, !onLoop {
            loop.perform { self.drain() }
        }
    }

    private func receiveHello(_ frame: borrowing InboundFrame) throws {
        do throws(ProtocolViolation) {
            let (grants, name) = try PortState.readHello(frame, byInitiator: isInitiator)
            state.withLock { state in
                state.entered = frame.number
                state.framesIn += 1
                state.grants = grants
                state.setCredits()
                // The other side has accepted this one by saying Hello, and may call from here on.
                if isInitiator { state.phase = .open }
                // The accept rule is the user's code: it runs when the turn ends, outside every lock.
                state.afterwards(.perform { self.decideOnPeer(calledBy: name) })
            }
        } catch {
            state.withLock { $0.fail(error, to: channel) }
            throw error
        }
    }

    private func decideOnPeer(calledBy peerName: String) {
        if let reason = configuration.accept.decide(channel.peer) {
            state.withLock { state in
                state.commitGoodbye(.refused, reason, to: channel)
                for call in state.ready.removeAll() { state.afterwards(.release(call)) }
            }
            endAfterGoodbye(.refusedHere(reason))
            return
        }
        let (isOpen, hasCalls) = state.withLock { state in
            if state.phase == .handshake {
                state.commitHello(to: channel, name: configuration.programName, isInitiator: false)
                state.phase = .open
            }
            state.isAccepted = true
            return (state.phase == .open, !state.ready.isEmpty)
        }
        if hasCalls { loop.perform { self.drain() } }
        guard isOpen else { return }
        channel.setNeedsFlush()
        report(.opened(peer: channel.peer, name: peerName))
        handshakeEnded(nil)
        keepAlive()
        lookWhetherDropped()
    }
}

/// What follows from the frames of one read.
private struct EndOfTurn: ~Copyable {
    var completions: Completions
    var started: InboundCall?
    let hasCalls: Bool
    let owesFlush: Bool
}

extension PortState {
    /// The peer broke a rule: say which, and take nothing more from it.
    mutating func fail(_ violation: ProtocolViolation, to channel: Channel) {
        self.violation = violation.message
        commitGoodbye(violation.reason, violation.message, to: channel)
    }
}
