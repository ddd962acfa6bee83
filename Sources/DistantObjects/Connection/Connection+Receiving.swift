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
            let descriptors = channel.makeSharedMemory(
                tellsProcessor: state.withLock { $0.session.handshake.tellsProcessor })
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
            let tellsProcessor = state.withLock { $0.session.handshake.tellsProcessor }
            let isTaken =
                try !descriptors.isEmpty
                && channel.takeSharedMemory(descriptors, tellsProcessor: tellsProcessor)
            outcome = isTaken ? .taken : .none(isOffered: wasLost || !descriptors.isEmpty)
        } catch let error as TransportError {
            let violation = ProtocolViolation(.malformed, error.message)
            state.withLock { $0.session.fail(violation) }
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
            state.withLock { $0.session.writeGoodbye(.malformed, error.message) }
        case .limitExceeded:
            state.withLock { $0.session.writeGoodbye(.overLimit, error.message) }
        default: break
        }
    }

    package func deliveryEnded(onLoop: Bool) {
        let read = state.withContent { content in
            let sent = content.conversation.sent
            var actions = content.delivered.takeAll()
            content.conversation.lookAtAnswers(self, &actions.others)
            // There may be new credit or room.
            if !content.conversation.questions.pending.isEmpty {
                while content.conversation.writeNextPending(self, &actions.others) { content.send(over: channel) }
            }
            if content.conversation.session.streams.isAwaitingRoom, !isQueueFull {
                content.conversation.session.streams.resumeAwaitingRoom(&actions.others)
            }
            if content.conversation.session.memory.blobs != nil { content.conversation.settleBlobs(&actions.others) }
            content.conversation.serving.waitingBytes.end()
            let started = onLoop ? content.conversation.startCall(self, &actions.others) : nil
            return EndOfRead(
                actions: actions, started: started, hasCalls: content.conversation.serving.hasStartable,
                owesFlush: content.takeOwedFlush(since: sent))
        }
        // Flushes now, because the method of a call may block.
        if read.owesFlush { channel.setNeedsFlush() }
        perform(read, onLoop: onLoop)
        flushReleases(onLoop: onLoop)
        if onLoop {
            channel.setNeedsFlush()
            closeIfUnused()
        }
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
    func decide(on program: ConnectionProgram) {
        // Nil if the handshake has ended without this peer.
        guard let configuration = life.withLock({ $0.opening?.configuration.value }) else { return }
        if let reason = configuration.accept.decide(channel.peer, program) {
            transition { state, actions in state.refusePeer(reason, &actions) }
            handshakeEnded(byEnd: .refusedHere(reason))
            return endAfterGoodbye(.refusedHere(reason))
        }
        let canShare = channel.canShare
        let (hasCalls, end) = state.withLock { state in state.acceptPeer(sharesMemory: canShare) }
        if hasCalls { loop.perform { self.drain() } }
        if let end {
            // The acceptor sends its Hello after it has accepted the initiator. So the connection was open before the peer left.
            switch end {
            case .closedByPeer where isInitiator, .lost where isInitiator: return handshakeEnded(nil)
            default: return handshakeEnded(byEnd: end)
            }
        }
        // Sent before the task goes on: it may end the process, and the other side has been accepted.
        channel.flush()
        report(.opened(peer: channel.peer, program))
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

extension Connection {
    /// Runs a transition under the lock, then performs its actions.
    func transition<Result: Sendable>(
        onLoop: Bool = false,
        _ body: (inout Conversation<Connection>, inout [Action<Connection>]) -> Result
    ) -> Result {
        let done = state.withLock { state in
            var actions: [Action<Connection>] = []
            let result = body(&state, &actions)
            return Transition(actions: actions, result: result)
        }
        let result = done.result
        if !done.actions.isEmpty { perform(done.actions, onLoop: onLoop) }
        return result
    }

    /// Performs the actions of transitions, without the lock.
    ///
    /// - Parameter onLoop: Whether this is the loop's thread. If so, events are delivered in their place among the actions.
    ///   Else all user code is added to `userWork` in one step, after the other actions.
    @inline(__always)
    func perform(_ actions: consuming Actions<Connection>, onLoop: Bool) {
        guard !actions.isEmpty else { return }
        actions.perform(
            answer: { waiter, reply in waiter.complete(with: reply, self) },
            others: { rest in perform(rest, onLoop: onLoop) })
    }

    /// Performs actions without answers.
    @inline(never)
    func perform(_ actions: consuming [Action<Connection>], onLoop: Bool) {
        var work = performLibraryWork(of: consume actions, onLoop: onLoop)
        if !work.isEmpty { addUserWork(&work, onLoop: onLoop) }
    }

    /// Performs the actions that run no user code.
    ///
    /// It is a separate function so that, when it returns, only its result refers to the objects that user code will release.
    ///
    /// - Returns: The actions that run user code.
    @inline(never)
    private func performLibraryWork(
        of actions: consuming [Action<Connection>], onLoop: Bool
    ) -> [Action<Connection>] {
        var userWork: [Action<Connection>] = []
        // The actions are removed one by one, because copies would retain their objects.
        var rest = consume actions
        rest.reverse()
        while let action = rest.popLast() {
            switch action {
            case .event where onLoop:
                var event = [action]
                addUserWork(&event, onLoop: true)
            case .discard(let reply):
                if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) }
                if let tables = reply.tables { userWork.append(.release(tables)) }
            case _ where action.runsUserCode:
                userWork.append(action)
            default:
                perform(action)
            }
        }
        return userWork
    }

    private func perform(_ action: Action<Connection>) {
        switch action {
        case .fail(let waiter, let error):
            waiter.complete(.failure(error), self)
        case .oneWay(let waiter, let error):
            waiter.resume(error, on: channel)
        case .pong(let continuation, nil):
            continuation.resume()
        case .pong(let continuation, let error?):
            continuation.resume(throwing: error)
        case .discard(let reply):
            if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) }
        case .recycle(let message):
            coder.recycle(message)
        case .release, .unexport:
            break
        case .cancel(let call):
            call.cancel()
        case .abort(let number):
            channel.abort(number)
        case .cancelTimer(let token):
            loop.cancelTimer(token)
        case .event(let event):
            report(event)
        case .decideOnPeer(let program):
            decide(on: program)
        case .peerSaidGoodbye:
            peerSaidGoodbye()
        case .closeIfIdle:
            finishClosingIfIdle()
        case .stream(let action):
            action.perform(on: self)
        case .flush:
            channel.setNeedsFlush()
        case .awaitAnswers(let count):
            channel.notifyWhenAnswers(areAtMost: count)
        case .startAnswerTimer:
            _ = loop.addTimer(after: settings.conversation.limits.answerPatience / AnswerFlow.ticks) { [weak self] in
                self?.answersTick()
            }
        case .watchBlobs:
            watchBlobs()
        case .releaseFreeMemory:
            loop.perform { self.releaseFreeMemory() }
        case .endRoots:
            roots.end()
        case .ended(let end):
            reportEnd(end)
        }
    }

    /// Adds actions that run user code to the queue, and arranges that the loop runs them.
    ///
    /// - Parameter onLoop: Whether they may run now, on the calling thread.
    func addUserWork(_ work: inout [Action<Connection>], onLoop: Bool) {
        guard userWork.withLock({ $0.add(&work) }) else { return }
        if onLoop { runUserWork() } else { loop.perform { self.runUserWork() } }
    }

    /// Reports an event on the loop, from any thread.
    func reportOnLoop(_ event: ConnectionEvent) {
        guard settings.onEvent != nil else { return }
        var work = [Action<Connection>.event(event)]
        addUserWork(&work, onLoop: false)
    }

    private func runUserWork() {
        while let piece = userWork.withLock({ $0.next() }) { perform(piece) }
    }
}

/// The result of a transition and its actions.
private struct Transition<Result: Sendable>: Sendable {
    let actions: [Action<Connection>]
    let result: Result
}
