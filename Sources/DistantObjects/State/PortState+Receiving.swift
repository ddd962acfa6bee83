import KeyedArchive
import PortTransport

/// A step that the host has to take at once, while it still handles the frame.
enum DeliveryStep: UInt8 {
    case none
    /// Keep the channel open after the end of its input, which the peer announced: its calls are still answered.
    case outliveInput
    /// Get ready for descriptors of shared memory, then call `askForMemory()`.
    case expectMemory
    /// Make memory for both sides, then call `memoryWasMade(_:)`.
    case makeMemory
    /// Open the memory whose descriptors came with this frame, then call `memoryWasTaken(_:)`.
    case takeMemory
    /// Read the frames that follow from shared memory.
    case moveInput
    /// Free the memory that was made: the peer does not use it.
    case dropMemory
}

// Entering a frame: its header and tables are processed, in order, before the next frame. No user code runs here.
extension PortState {
    /// Enters one frame.
    ///
    /// - Throws: The rule that the peer broke. The caller then calls `fail(_:)`.
    mutating func receive(
        _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) -> DeliveryStep {
        entered = frame.number
        framesIn += 1
        let kind = try checkedKind(of: frame)
        var reader = WireReader(frame.bytes)
        switch kind {
        case .hello:
            try receiveHello(&reader, host, &actions.others)
            return .none
        case .call:
            try receiveCall(&reader, frame, host, &actions.others)
        case .return:
            try receiveReturn(&reader, frame, host, &actions)
        case .cancel:
            try cancel(CancelFrame(reading: &reader).question, &actions.others)
        case .drop:
            try receiveDrop(DropFrame(reading: &reader).question, &actions.others)
        case .release:
            try receive(ReleaseFrame(reading: reader), &actions.others)
        case .credit:
            try receive(CreditFrame(reading: &reader, flags: frame.flags), host, &actions.others)
        case .ping:
            try writePong(PingFrame(reading: &reader).token, host)
        case .pong:
            try receive(PongFrame(reading: &reader), &actions.others)
        case .barrier:
            try receive(BarrierFrame(reading: &reader), host)
        case .failed:
            try receive(FailedFrame(reading: &reader), &actions.others)
        case .goodbye:
            return try receive(GoodbyeFrame(reading: &reader), &actions.others)
        case .share:
            return try receive(
                ShareFrame(reading: &reader, flags: frame.flags, knowsBlobs: knowsBlobs), host, &actions.others)
        case .item:
            try receiveItem(&reader, frame, host, &actions.others)
        case .end:
            try receiveEnd(&reader, frame, host, &actions.others)
        case .provide, .accept:
            throw ProtocolViolation(.unknownName, "a frame of kind \(kind) needs a feature that was not agreed on")
        }
        if frame.messageLength != nil { makeRoom(&actions.others) }
        return host.isInitiator && wantsMemory(host) ? .expectMemory : .none
    }

    /// The kind of a frame, once checked that the kind may have its flags, descriptors, fragments and size.
    @inline(__always)
    private func checkedKind(of frame: borrowing InboundFrame) throws(ProtocolViolation) -> FrameKind {
        guard let kind = FrameKind(rawValue: frame.kind) else {
            throw ProtocolViolation(.malformed, "a frame has the unknown kind \(frame.kind)")
        }
        let allowance = kind.allowance
        if phase == .handshake, !allowance.contains(.beforeHello) {
            throw ProtocolViolation(.outOfStep, "a frame came before both sides had said Hello")
        }
        if frame.messageLength != nil, !allowance.contains(.fragments) {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) cannot come in fragments")
        }
        if frame.ownFlags != 0, !allowance.contains(.flags) {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) has no flags")
        }
        let mayHaveDescriptors = allowance.contains(.descriptors) && frame.flags == ShareStep.give.rawValue
        if !frame.descriptors.isEmpty, !mayHaveDescriptors {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) carries no descriptors")
        }
        return kind
    }

    /// Enters the complete fragments of a message, or its abort by the sender.
    mutating func receive(
        fragmentsOf number: UInt64, _ bytes: ByteSlice?, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) {
        guard let partial = partials.removeValue(forKey: number) else {
            // The call was dropped because it arrived after this side's Goodbye.
            if outbox.isClosed { return }
            throw ProtocolViolation(.unknownName, "fragments arrived of a message that was never begun")
        }
        partial.complete(bytes)
        laidAside.end(partial)
        defer { makeRoom(&actions.others) }
        switch partial.purpose {
        case .call(let export):
            laidAside.add(partial)
            makeNextReady(of: export)
        case .reply(let question, let status, let tables):
            let reply = Reply(
                status: bytes == nil ? .refused : status, body: bytes ?? .empty, largeBytes: bytes?.bytes.count ?? 0,
                tables: tables)
            complete(try questions.answered(question), with: reply, &actions)
        case .stream(let stream):
            laidAside.add(partial)
            fragmentsArrived(of: partial, for: stream, &actions.others)
        case .refused:
            giveBack(partial.drop(), &actions.others)
        }
    }

    /// Ends the connection because the peer broke a rule, which the Goodbye names.
    mutating func fail(_ violation: ProtocolViolation) {
        ending.violation = violation.message
        writeGoodbye(violation.reason, violation.message)
    }

    // MARK: Hello

    private mutating func receiveHello(
        _ reader: inout WireReader, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard phase == .handshake, !handshake.hasPeersHello else {
            throw ProtocolViolation(.outOfStep, "a second Hello")
        }
        let hello = try HelloFrame(reading: &reader)
        if host.isInitiator, hello.features.contains(.initiator) {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        handshake.grants = PeerGrants(hello)
        credit.begin(handshake.grants, runningCalls: limits.runningCalls)
        // By its Hello the peer has accepted this side. It may call from now on.
        if host.isInitiator { enter(.open) }
        actions.append(.decideOnPeer(name: hello.name))
    }

    /// Refuses the peer, as the accept rule decided.
    mutating func refusePeer(_ reason: String, _ actions: inout [Action<Host>]) {
        writeGoodbye(.refused, reason)
        for call in ready.removeAll() { actions.append(.release(call)) }
    }

    /// Accepts the peer, as the accept rule decided.
    ///
    /// - Returns: Whether the connection is open now, and whether calls wait to be started.
    mutating func acceptPeer(_ programName: String, sharesMemory: Bool) -> (isOpen: Bool, hasCalls: Bool) {
        if phase == .handshake {
            writeHello(programName, isInitiator: false, sharesMemory: sharesMemory)
            enter(.open)
        }
        handshake.isAccepted = true
        return (phase == .open, !ready.isEmpty)
    }

    /// Writes this side's `Hello`.
    ///
    /// - Parameter sharesMemory: Whether the channel supports shared memory.
    mutating func writeHello(_ programName: String, isInitiator: Bool, sharesMemory: Bool) {
        if !sharesMemory { sharing.phase = .never }
        var features = Features.all
        if sharing.phase == .never { features.subtract(.ofSharedMemory) }
        if isInitiator { features.insert(.initiator) }
        outbox.write(
            HelloFrame(
                features, queuedCalls: limits.queuedCalls, runningCalls: limits.runningCalls, message: limits.message,
                name: programName))
    }

    // MARK: Small frames

    private mutating func receive(
        _ frame: ReleaseFrame, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard frame.entered <= sent else {
            throw ProtocolViolation(.unknownName, "a Release names a frame that was never sent")
        }
        try frame.forEachObject { (id) throws(ProtocolViolation) in
            if let freed = try exports.release(id, entered: frame.entered) { actions.append(.unexport(freed)) }
        }
    }

    private mutating func receive(
        _ frame: CreditFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        switch frame {
        case .calls(let count): try credit.give(calls: count, handshake.grants)
        case .oneWays(let count): try credit.give(oneWays: count, handshake.grants)
        case .largeMessages(let bytes):
            switch host.creditLargeMessages(bytes) {
            case .notOwed:
                throw ProtocolViolation(.overLimit, "more credit for large messages is given back than was used")
            case .counted: break
            case .mayGoOn: actions.append(.flush)
            }
            answerFlow.creditCame()
        case .stream(let number, let items, let bytes):
            try receiveCredit(of: number, items, bytes, &actions)
        }
    }

    private mutating func receive(
        _ frame: FailedFrame, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard frame.number <= sent else {
            throw ProtocolViolation(.unknownName, "a Failed names a frame that was never sent")
        }
        guard oneWays.failed(frame.number, frame.error) else {
            throw ProtocolViolation(.unknownName, "a Failed names what is no one-way message")
        }
        actions.append(.event(.oneWayFailed(number: frame.number, frame.error)))
    }

    // MARK: Pings and barriers

    /// Writes a ping or a barrier, or queues it if too many are unanswered.
    mutating func writeControl(_ kind: FrameKind, _ wait: ControlWait) {
        guard let token = controls.begin(kind, wait) else { return }
        if kind == .ping { outbox.write(PingFrame(token: token)) } else { outbox.write(BarrierFrame(token: token)) }
    }

    private mutating func receive(_ frame: PongFrame, _ actions: inout [Action<Host>]) throws(ProtocolViolation) {
        let wait = try controls.answered(frame.token)
        if let continuation = wait.continuation.take() { actions.append(.pong(continuation, nil)) }
        if let next = controls.popWaiting() { writeControl(next.kind, next.wait) }
    }

    private mutating func receive(_ frame: BarrierFrame, _ host: Host) throws(ProtocolViolation) {
        guard controls.barriers.waitingCount < ProtocolLimits.barriers else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.barriers) barriers wait")
        }
        for token in controls.barriers.barrier(frame.token) { try writePong(token, host) }
    }

    /// Answers a ping, or a barrier that has no more calls to wait for.
    private mutating func writePong(_ token: UInt64, _ host: Host) throws(ProtocolViolation) {
        outbox.write(PongFrame(token: token))
        try controls.wrotePong(sent) { host.isWritten($0) }
    }
}
