import PortTransport
import Synchronization

// Input from the channel. Frames are entered in order on the reading thread. Their actions are performed after the lock is
// released.
extension Connection: FrameHandler {
    package func receive(_ frame: borrowing InboundFrame) throws {
        // Code that uses a descriptor duplicates it, so all received ones are closed.
        defer { Channel.closeForeign(frame.descriptors) }
        let step = try state.withContent { content throws(ProtocolViolation) in
            try content.deliver { conversation, actions throws(ProtocolViolation) in
                try conversation.receive(frame, self, &actions)
            }
        }
        if step != .none { try perform(step, frame) }
    }

    /// Performs the step of a frame that cannot wait for the end of the read.
    @inline(never)
    private func perform(_ step: DeliveryStep, _ frame: borrowing InboundFrame) throws {
        switch step {
        case .none: break
        case .outliveInput: channel.outliveInput()
        case .expectMemory:
            channel.expectSharedMemory()
            state.withContent { content in
                content.conversation.askForMemory()
                content.owesFlush = true
            }
        case .makeMemory:
            let descriptors = channel.makeSharedMemory(tellsProcessor: state.withLock { $0.tellsProcessor })
            state.withContent { content in
                content.conversation.memoryWasMade(descriptors)
                content.owesFlush = true
            }
        case .takeMemory: try takeMemory(frame.descriptors)
        case .moveInput: channel.moveInput()
        case .dropMemory: channel.dropSharedMemory()
        }
    }

    private func takeMemory(_ descriptors: [CInt]) throws {
        let outcome: MemoryOutcome
        do {
            let wasLost = try channel.stopExpectingSharedMemory()
            let tellsProcessor = state.withLock { $0.tellsProcessor }
            let isTaken =
                try !descriptors.isEmpty
                && channel.takeSharedMemory(descriptors, tellsProcessor: tellsProcessor)
            outcome = isTaken ? .taken : .none(isOffered: wasLost || !descriptors.isEmpty)
        } catch let error as TransportError {
            let violation = ProtocolViolation(.malformed, error.message)
            state.withLock { $0.fail(violation) }
            throw violation
        }
        state.withContent { content in
            content.conversation.memoryWasTaken(outcome)
            content.owesFlush = true
        }
    }

    package func receive(largeMessage number: UInt64, _ bytes: ByteSlice?) throws {
        try state.withContent { content throws(ProtocolViolation) in
            try content.deliver { conversation, actions throws(ProtocolViolation) in
                try conversation.receive(fragmentsOf: number, bytes, &actions)
            }
        }
    }

    /// Sends a Goodbye to a peer that broke a rule of framing.
    package func inputFailed(_ error: TransportError) {
        switch error.code {
        case .protocolViolation, .truncated:
            state.withLock { $0.writeGoodbye(.malformed, error.message) }
        case .limitExceeded:
            state.withLock { $0.writeGoodbye(.overLimit, error.message) }
        default: break
        }
    }

    package func deliveryEnded(onLoop: Bool) {
        let read = state.withContent { content in
            let sent = content.conversation.sent
            var actions = content.delivered.takeAll()
            content.conversation.writeHeldCredit(self, &actions.others)
            // This comes before the check for calls that may start.
            content.conversation.lookAtAnswers(self, &actions.others)
            // There may be new credit or room.
            if !content.conversation.pending.isEmpty {
                while content.conversation.writeNextPending(self, &actions.others) { content.send(over: channel) }
            }
            if content.conversation.streams.isAwaitingRoom, !isQueueFull {
                content.conversation.streams.resumeAwaitingRoom(&actions.others)
            }
            if content.conversation.blobs != nil { content.conversation.settleBlobs(&actions.others) }
            content.conversation.waitingBytes.end()
            let started = onLoop ? content.conversation.startCall(self, &actions.others) : nil
            return EndOfRead(
                actions: actions, started: started, hasCalls: content.conversation.hasStartable,
                owesFlush: content.takeOwedFlush(since: sent))
        }
        // Flushes now, because the method of a call may block.
        if read.owesFlush { channel.setNeedsFlush() }
        perform(read, onLoop: onLoop)
        flushReleases(onLoop: onLoop)
        if onLoop { channel.setNeedsFlush() }
    }

    @inline(__always)
    private func perform(_ read: consuming EndOfRead, onLoop: Bool) {
        let hasCalls = read.hasCalls
        let started = read.started.take()
        perform(read.actions, onLoop: onLoop)
        if let started {
            drain(from: started)
        } else if hasCalls, !onLoop {
            loop.perform { self.drain() }
        }
    }

    /// Asks the accept rule, which is user code, without any lock.
    func decideOnPeer(calledBy peerName: String) {
        // Nil if the handshake has ended without this peer.
        guard let configuration = life.withLock({ $0.configuration }) else { return }
        if let reason = configuration.accept.decide(channel.peer) {
            transition { state, actions in state.refusePeer(reason, &actions) }
            return endAfterGoodbye(.refusedHere(reason))
        }
        let canShare = channel.canShare
        let (isOpen, hasCalls) = state.withLock { state in
            state.acceptPeer(configuration.programName, sharesMemory: canShare)
        }
        if hasCalls { loop.perform { self.drain() } }
        guard isOpen else { return }
        channel.setNeedsFlush()
        report(.opened(peer: channel.peer, name: peerName))
        handshakeEnded(nil)
        keepAlive(every: configuration.keepalive)
        checkWhetherDropped()
    }
}

/// The work that follows the frames of one read.
private struct EndOfRead: ~Copyable, Sendable {
    var actions: Actions<Connection>
    var started: InboundCall?
    let hasCalls: Bool
    let owesFlush: Bool
}
