import KeyedArchive
import PortTransport

/// A step that the host has to take at once, while it still handles the frame.
enum DeliveryStep: UInt8 {
    case none
    /// Keep the channel open after the end of its input, which the peer has announced: the peer's calls are still
    /// answered.
    case outliveInput
    /// Get ready for descriptors of shared memory, then call `askForMemory()`.
    case expectMemory
    /// Make memory for both sides, then call `memoryWasMade(_:)`.
    case makeMemory
    /// Open the memory whose descriptors came with the frame, then call `memoryWasTaken(_:)`.
    case takeMemory
    /// Read the frames that follow from shared memory.
    case moveInput
    /// Free the memory that was made: the peer does not use it.
    case dropMemory
}

// Entering a frame: its header and tables are processed, in order, before the next frame. No user code runs here.
extension Conversation {
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
            try pings.receive(PingFrame(reading: &reader), &outbox) { host.isWritten($0) }
        case .pong:
            if let waiter = try pings.receive(PongFrame(reading: &reader), &outbox) {
                actions.append(.pong(waiter, nil))
            }
        case .barrier:
            try pings.receive(BarrierFrame(reading: &reader), &outbox) { host.isWritten($0) }
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
            if let inbox = stream as? StreamInbox {
                streams.fragmentsArrived(of: partial, for: inbox, &actions.others)
            }
        case .refused:
            giveBack(partial.drop(), &actions.others)
        }
    }

    /// Ends the connection because the peer broke a rule.
    ///
    /// The Goodbye names that rule.
    mutating func fail(_ violation: ProtocolViolation) {
        ending.violation = violation.message
        writeGoodbye(violation.reason, violation.message)
    }
}
