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

extension FrameKind {
    /// The content that frames of a kind may have, and when they may come.
    struct Allowance: OptionSet {
        let rawValue: UInt8

        static let flags = Allowance(rawValue: 1)
        static let fragments = Allowance(rawValue: 2)
        static let descriptors = Allowance(rawValue: 4)
        static let beforeHello = Allowance(rawValue: 8)
    }

    var allowance: Allowance {
        switch self {
        case .call, .return, .end: [.flags, .fragments]
        case .item: .fragments
        case .credit: .flags
        case .share: [.flags, .descriptors]
        case .hello, .goodbye: .beforeHello
        case .cancel, .drop, .release, .barrier, .ping, .pong, .failed, .provide, .accept: []
        }
    }
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
            try receiveHello(frame, host, &actions.others)
            return .none
        case .call:
            try receiveCall(&reader, frame, host, &actions.others)
        case .return:
            try receiveReturn(&reader, frame, host, &actions)
        case .cancel:
            let question = try reader.number32()
            try reader.end()
            try cancel(question, &actions.others)
        case .drop:
            let question = try reader.number32()
            try reader.end()
            try receiveDrop(question, &actions.others)
        case .release:
            try receiveRelease(&reader, &actions.others)
        case .credit where frame.flags == 3:
            try receiveStreamCredit(&reader, &actions.others)
        case .credit:
            try receiveCredit(&reader, flags: frame.flags, host, &actions.others)
        case .ping:
            let token = try reader.number()
            try reader.end()
            try writePong(token, host)
        case .pong:
            try receivePong(&reader, &actions.others)
        case .barrier:
            try receiveBarrier(&reader, host)
        case .failed:
            try receiveFailed(&reader, &actions.others)
        case .goodbye:
            return try receiveGoodbye(&reader, &actions.others)
        case .share:
            return try receiveShare(&reader, flags: frame.flags, host, &actions.others)
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
        if frame.flags & 0x7F != 0, !allowance.contains(.flags) {
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
            if ending.saidGoodbye { return }
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
        _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard phase == .handshake, !handshake.hasPeersHello else {
            throw ProtocolViolation(.outOfStep, "a second Hello")
        }
        let (grants, name) = try Handshake.read(frame.bytes, isInitiator: host.isInitiator)
        handshake.grants = grants
        credit.begin(grants, runningCalls: limits.runningCalls)
        // By its Hello the peer has accepted this side. It may call from now on.
        if host.isInitiator { enter(.open) }
        actions.append(.decideOnPeer(name: name))
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
        for byte in ProtocolLimits.magic { outbox.append(byte: byte) }
        outbox.append(ProtocolLimits.version)
        let memory =
            sharing.phase == .never
            ? 0
            : ProtocolLimits.sharesMemory | ProtocolLimits.knowsDecline | ProtocolLimits.tellsProcessor
                | ProtocolLimits.blobs
        outbox.append(
            (isInitiator ? ProtocolLimits.initiator : 0) | memory | ProtocolLimits.separatesOneWays
                | ProtocolLimits.describesClasses | ProtocolLimits.knowsPromises | ProtocolLimits.streams
                | ProtocolLimits.carriesMetadata)
        outbox.append(limits.queuedCalls)
        outbox.append(limits.runningCalls)
        outbox.append(UInt64(limits.message))
        outbox.append(programName.cut(toBytes: ProtocolLimits.nameBytes))
        write(.hello)
    }

    // MARK: Small frames

    private mutating func receiveRelease(
        _ reader: inout WireReader, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let watermark = try reader.number()
        guard watermark <= sent else {
            throw ProtocolViolation(.unknownName, "a Release names a frame that was never sent")
        }
        let count = try reader.count(minimum: 2)
        for _ in 0..<count {
            if let freed = try exports.release(reader.objectID(), entered: watermark) {
                actions.append(.unexport(freed))
            }
        }
        try reader.end()
    }

    private mutating func receiveCredit(
        _ reader: inout WireReader, flags: UInt8, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let amount = try reader.number()
        try reader.end()
        switch flags {
        case 0:
            try credit.give(calls: amount, handshake.grants)
        case 1:
            switch host.creditLargeMessages(amount) {
            case .notOwed:
                throw ProtocolViolation(.overLimit, "more credit for large messages is given back than was used")
            case .counted: break
            case .mayGoOn: actions.append(.flush)
            }
            answerFlow.creditCame()
        case 2:
            try credit.give(oneWays: amount, handshake.grants)
        default:
            throw ProtocolViolation(.malformed, "a Credit of an unknown kind")
        }
    }

    private mutating func receiveFailed(
        _ reader: inout WireReader, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let number = try reader.number()
        let code = try reader.number()
        let text = try reader.text(limit: 256)
        try reader.end()
        guard number <= sent else {
            throw ProtocolViolation(.unknownName, "a Failed names a frame that was never sent")
        }
        let error = ConnectionError(.init(number: Int(clamping: code)), text)
        guard oneWays.failed(number, error) else {
            throw ProtocolViolation(.unknownName, "a Failed names what is no one-way message")
        }
        actions.append(.event(.oneWayFailed(number: number, error)))
    }

    // MARK: Pings and barriers

    /// Writes a ping or a barrier, or queues it if too many are unanswered.
    mutating func writeControl(_ kind: FrameKind, _ wait: ControlWait) {
        if let token = controls.begin(kind, wait) { write(kind, number: token) }
    }

    private mutating func receivePong(
        _ reader: inout WireReader, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let token = try reader.number()
        try reader.end()
        let wait = try controls.answered(token)
        if let continuation = wait.continuation.take() { actions.append(.pong(continuation, nil)) }
        if !ending.saidGoodbye, let next = controls.popWaiting() { writeControl(next.kind, next.wait) }
    }

    private mutating func receiveBarrier(_ reader: inout WireReader, _ host: Host) throws(ProtocolViolation) {
        let token = try reader.number()
        try reader.end()
        guard controls.barriers.waitingCount < ProtocolLimits.barriers else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.barriers) barriers wait")
        }
        for token in controls.barriers.barrier(token) { try writePong(token, host) }
    }

    /// Answers a ping, or a barrier that has no more calls to wait for.
    private mutating func writePong(_ token: UInt64, _ host: Host) throws(ProtocolViolation) {
        write(.pong, number: token)
        try controls.wrotePong(sent) { host.isWritten($0) }
    }
}
