import KeyedArchive
import PortTransport

// Entering a frame: its header and tables are processed, in order, before the next frame. No user code runs here.
extension Conversation {
    /// Enters one frame.
    ///
    /// - Throws: The rule that the peer broke. The caller then calls `Session.fail(_:)`.
    mutating func receive(
        _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) -> DeliveryStep {
        count(frame)
        let kind = try checkedKind(of: frame)
        var reader = WireReader(frame.bytes)
        switch kind {
        case .hello:
            guard phase == .handshake, !session.handshake.hasPeersHello else {
                throw ProtocolViolation(.outOfStep, "a second Hello")
            }
            try receive(HelloFrame(reading: &reader), host, &actions.others)
            return .none
        case .call:
            let asked = session.handshake.knowsPromises ? questions.numbers : nil
            try serving.receiveCall(&reader, frame, asked: asked, &session, host, &actions.others)
        case .return:
            try questions.receiveReturn(&reader, frame, &session, host, &actions)
        case .cancel:
            try serving.cancel(CancelFrame(reading: &reader).question, session, &actions.others)
        case .drop:
            try serving.receiveDrop(DropFrame(reading: &reader).question, &session, &actions.others)
        case .release:
            try session.references.receive(ReleaseFrame(reading: reader), after: sent) { freed in
                actions.others.append(.unexport(freed))
            }
        case .credit:
            try receive(CreditFrame(reading: &reader, flags: frame.flags), host, &actions.others)
        case .ping:
            try session.pings.receive(PingFrame(reading: &reader), &session.outbox) { host.isWritten($0) }
        case .pong:
            if let waiter = try session.pings.receive(PongFrame(reading: &reader), &session.outbox) {
                actions.append(.pong(waiter, nil))
            }
        case .barrier:
            try session.pings.receive(BarrierFrame(reading: &reader), &session.outbox) { host.isWritten($0) }
        case .failed:
            try questions.receive(FailedFrame(reading: &reader), after: sent, &actions.others)
        case .goodbye:
            let goodbye = try GoodbyeFrame(reading: &reader)
            let step = try session.receive(goodbye, &actions.others)
            questions.oneWays.notTaken(after: goodbye.entered)
            return step
        case .share:
            let grants = session.handshake.grants
            return try session.memory.receive(
                ShareFrame(reading: &reader, flags: frame.flags, knowsBlobs: session.memory.knowsBlobs(grants)),
                grants, &session.outbox, host, &actions.others)
        case .item:
            try receiveItem(&reader, frame, host, &actions.others)
        case .end:
            try receiveEnd(&reader, frame, host, &actions.others)
        case .provide, .accept:
            throw ProtocolViolation(.unknownName, "a frame of kind \(kind) needs a feature that was not agreed on")
        }
        noteFragments(of: frame, host, &actions.others)
        return host.isInitiator && wantsMemory(host) ? .expectMemory : .none
    }

    /// Notes that the fragments of a frame follow, if they do.
    @inline(__always)
    private mutating func noteFragments(
        of frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        guard let length = frame.messageLength else { return }
        if length >= UInt64(ProtocolLimits.largeContent) {
            session.memory.largeContent(isInitiator: host.isInitiator)
        }
        serving.makeRoom(&session, &actions)
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

    /// Whether this side, the initiator, asks for shared memory now.
    @inline(__always)
    private mutating func wantsMemory(_ host: Host) -> Bool {
        if session.outbox.hasWrittenLarge { session.memory.largeContent(isInitiator: true) }
        return session.memory.isWanted(
            session.settings.sharesMemoryWhen, frames: session.entered &+ sent,
            isOpen: session.life.isOpen && !session.outbox.isClosed, session.handshake.grants, host)
    }

    /// Enters the complete fragments of a message, or its abort by the sender.
    mutating func receive(
        fragmentsOf number: UInt64, _ bytes: ByteSlice?, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) {
        guard let partial = session.large.complete(number, bytes) else {
            // The call was dropped because it arrived after this side's Goodbye.
            if session.outbox.isClosed { return }
            throw ProtocolViolation(.unknownName, "fragments arrived of a message that was never begun")
        }
        defer { serving.makeRoom(&session, &actions.others) }
        switch partial.recipient {
        case .call(let export):
            session.large.laidAside.add(partial)
            serving.makeNextReady(of: export, &session)
        case .reply(let question, let status, let tables):
            try questions.complete(question, status, tables, bytes, &session, &actions)
        case .stream(let stream):
            session.large.laidAside.add(partial)
            if let inbox = stream as? StreamInbox {
                session.streams.fragmentsArrived(of: partial, for: inbox, &actions.others)
            }
        case .refused:
            Action.giveBack(partial.drop(), &actions.others)
        }
    }

    // MARK: Credit

    private mutating func receive(
        _ frame: CreditFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let grants = session.handshake.grants
        switch frame {
        case .calls(let count): try session.credit.give(calls: count, grants)
        case .oneWays(let count): try session.credit.give(oneWays: count, grants)
        case .largeMessages(let bytes):
            switch host.creditLargeMessages(bytes) {
            case .notOwed:
                throw ProtocolViolation(.overLimit, "more credit for large messages is given back than was used")
            case .counted: break
            case .mayGoOn: actions.append(.flush)
            }
            serving.answerFlow.creditCame()
        case .stream(let number, let items, let bytes):
            try session.handshake.checkStreamsAgreed("a Credit for")
            try session.streams.receiveCredit(of: number, items, bytes, &actions)
        }
    }

    // MARK: Streams of the peer

    private mutating func receiveItem(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        try session.handshake.checkStreamsAgreed("an Item of")
        let header = try ItemFrame(reading: &reader)
        let inbox = try session.streams.inbox(header.stream)
        let size = frame.bytes.count + Int(clamping: frame.messageLength ?? 0)
        try inbox.receive(items: header.count, bytes: size)
        let tables = try session.readTables(&reader, host, &actions)
        let body = try readBody(of: inbox, &reader, frame, tables, &actions)
        session.streams.receive(
            StreamItems(count: Int(header.count), bytes: size, tables: tables, body: body), of: inbox, &actions)
    }

    private mutating func receiveEnd(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        try session.handshake.checkStreamsAgreed("an End of")
        let isOpener = frame.messageLength != nil
        switch try EndFrame(reading: &reader, flags: frame.ownFlags, isOpener: isOpener) {
        case .reader(let number): try session.streams.receiveReadersEnd(number, &session.outbox, &actions)
        case .failed(let number, let error):
            let inbox = try session.streams.inbox(number)
            session.streams.receiveEnd(.failed(error), of: inbox, &session.outbox, &actions)
        case .producer(let number, let status):
            let inbox = try session.streams.inbox(number)
            let tables = try session.readTables(&reader, host, &actions)
            let body = try readBody(of: inbox, &reader, frame, tables, &actions)
            session.streams.receiveEnd(.message(status, body, tables), of: inbox, &session.outbox, &actions)
        }
    }

    private mutating func readBody(
        of inbox: StreamInbox, _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ tables: MessageTables?,
        _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> InboundBody {
        try session.checkBody(of: frame, reader, tables, &actions)
        guard frame.messageLength == nil else {
            let partial = PartialMessage(recipient: .stream(inbox), of: frame)
            session.large.begin(partial, frame)
            return .arriving(partial)
        }
        // The bytes are copied, so that items that wait do not keep whole read buffers.
        var batch = ByteBatch()
        return .whole(batch.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[reader.offset...])))
    }
}
