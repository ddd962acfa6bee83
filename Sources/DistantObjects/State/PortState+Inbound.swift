import KeyedArchive
import PortTransport

// Entering: the header and tables of each frame, in order, before the next frame is looked at. No user code runs here.
extension PortState {
    /// One opener.
    ///
    /// What it wants done is left to do `afterwards`, or in `ready`.
    mutating func receive(
        _ frame: borrowing InboundFrame, for connection: Connection
    ) throws(ProtocolViolation) {
        entered = frame.number
        framesIn += 1
        guard let kind = FrameKind(rawValue: frame.kind) else {
            throw ProtocolViolation(.malformed, "a frame has the unknown kind \(frame.kind)")
        }
        if case .handshake = phase, kind != .hello, kind != .goodbye {
            throw ProtocolViolation(.outOfStep, "a frame came before both sides had said Hello")
        }
        if frame.bulkLength != nil, kind != .call, kind != .return {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) cannot come in fragments")
        }
        if frame.flags & 0x7F != 0, kind != .call, kind != .return, kind != .credit, kind != .share {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) has no flags")
        }
        guard frame.descriptors.isEmpty || kind == .share else {
            throw ProtocolViolation(.malformed, "a frame of kind \(kind) carries no descriptors")
        }
        guard frame.bytes.count <= ProtocolLimits.tablesBytes + limits.message else {
            throw ProtocolViolation(.overLimit, "a message is larger than the \(limits.message) bytes granted")
        }
        var reader = WireReader(frame.bytes)
        switch kind {
        case .call:
            try receiveCall(&reader, frame, for: connection)
        case .return:
            try receiveReturn(&reader, frame, for: connection)
        case .cancel:
            if let call = try answers.cancel(reader.number32()) { afterwards(.cancel(call)) }
            try reader.end()
        case .drop:
            try answers.drop(reader.number32())
            try reader.end()
        case .release:
            try receiveRelease(&reader)
        case .credit:
            try receiveCredit(&reader, flags: frame.flags, channel: connection.channel)
        case .ping:
            let token = try reader.number()
            try reader.end()
            try commitPong(token, to: connection.channel)
        case .pong:
            let token = try reader.number()
            try reader.end()
            guard let waiting = pings.removeValue(forKey: token) else {
                throw ProtocolViolation(.outOfStep, "a Pong answers nothing")
            }
            if let continuation = waiting.continuation.take() { afterwards(.pong(continuation, nil)) }
            if !goodbyeSent, let next = waitingControls.popFirst() {
                commitControl(next.kind, next.wait, to: connection.channel)
            }
        case .barrier:
            let token = try reader.number()
            try reader.end()
            guard barriers.waitingCount < ProtocolLimits.barriers else {
                throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.barriers) barriers wait")
            }
            for token in barriers.barrier(token) { try commitPong(token, to: connection.channel) }
        case .failed:
            try receiveFailed(&reader)
        case .goodbye:
            try receiveGoodbye(&reader, channel: connection.channel)
        case .share:
            try receiveShare(&reader, frame, for: connection)
        case .hello:
            throw ProtocolViolation(.outOfStep, "a second Hello")
        case .item, .end, .provide, .accept:
            throw ProtocolViolation(.unknownName, "a frame of kind \(kind) needs a feature that was not agreed on")
        }
    }

    /// The peer's `Hello`, read apart because the accept rule decides what follows.
    static func readHello(
        _ frame: borrowing InboundFrame, byInitiator isInitiator: Bool
    ) throws(ProtocolViolation) -> (grants: PeerGrants, name: String) {
        guard frame.flags == 0, frame.bulkLength == nil else {
            throw ProtocolViolation(.malformed, "a Hello has no flags and comes in one piece")
        }
        var reader = WireReader(frame.bytes)
        let magic = try reader.raw(4)
        guard magic.elementsEqual(ProtocolLimits.magic) else {
            throw ProtocolViolation(.incompatible, "the peer does not speak the Distant Objects protocol")
        }
        var grants = PeerGrants()
        let version = try reader.number()
        guard version == ProtocolLimits.version else {
            throw ProtocolViolation(
                .incompatible,
                "the peer speaks protocol version \(version), this side version \(ProtocolLimits.version)")
        }
        grants.features = try reader.number()
        if isInitiator, grants.features & ProtocolLimits.initiator != 0 {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        grants.queuedCalls = Int(clamping: try reader.number())
        grants.runningCalls = max(1, Int(clamping: try reader.number()))
        grants.message = max(ProtocolLimits.smallestMessage, try reader.number())
        let name = try reader.text(limit: ProtocolLimits.nameBytes)
        guard grants.queuedCalls >= 1 else {
            throw ProtocolViolation(.malformed, "the peer grants no calls at all")
        }
        // What a later version adds stands behind; it is skipped.
        return (grants, name)
    }

    // MARK: Calls

    private mutating func receiveCall(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, for connection: Connection
    ) throws(ProtocolViolation) {
        let flags = CallFlags(rawValue: frame.flags & 0x7F)
        guard flags.isSubset(of: .known) else { throw ProtocolViolation(.malformed, "a Call has unknown flags") }
        try useInboundCredit(isOneWay: flags.contains(.oneWay), to: connection.channel)
        let question: UInt32? = flags.contains(.oneWay) ? nil : try reader.number32()
        let export = try exports.resolve(reader.objectID())
        let message = try readName(&reader, of: export)
        var deadline: UInt64?
        if flags.contains(.deadline) {
            let (nanoseconds, overflow) = try reader.number().multipliedReportingOverflow(by: 1_000)
            let (instant, isFar) = monotonicNow().addingReportingOverflow(nanoseconds)
            deadline = overflow || isFar ? .max : instant
        }
        let argumentCount = Int(clamping: try reader.number())
        let tables = try readTables(&reader, connection)
        if frame.bulkLength != nil { try checkOpener(reader, tables) }
        // After our Goodbye nothing is answered; its watermark tells the peer that this was not delivered. The references
        // were entered and are let go like those of any message.
        guard !goodbyeSent else {
            if let tables { afterwards(.release(tables)) }
            return
        }
        if let question { try answers.enter(question) }
        unfinished += 1
        let startsAtOnce = frame.bulkLength == nil && export.begin()
        let mailbox = Unmanaged.passUnretained(export.mailbox)
        let body = readBody(frame, from: reader.offset, of: export, startsAtOnce: startsAtOnce)
        let call = InboundCall(
            question: question, keepsAnswer: flags.contains(.keepAnswer), number: frame.number,
            export: consume export, message: consume message, argumentCount: argumentCount, tables: consume tables,
            deadline: deadline, epoch: barriers.enter(), isLate: phase != .open, body: consume body)
        if call.tables?.fault != nil { call.obstacle = .tables }
        // The call holds the export, and that its mailbox.
        if startsAtOnce { ready.append(consume call) } else { mailbox._withUnsafeGuaranteedRef { queue(call, in: $0) } }
    }

    private mutating func readBody(
        _ frame: borrowing InboundFrame, from offset: Int, of export: Export, startsAtOnce: Bool
    ) -> InboundBody {
        guard frame.bulkLength == nil else {
            let partial = PartialMessage(purpose: .call(export))
            partials[frame.number] = partial
            return .arriving(partial)
        }
        // What has to wait shares memory with what came with it, instead of holding a whole read buffer.
        if startsAtOnce { return .whole(frame.retain(offset..<frame.bytes.count)) }
        return .whole(waitingBytes.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[offset...])))
    }

    /// The call waits for the messages to its object that came before it.
    @inline(never)
    private mutating func queue(_ call: InboundCall, in mailbox: Mailbox) {
        mailbox.waiting.append(call)
        if !mailbox.isBusy { startNext(of: call.export) }
    }

    private mutating func readName(
        _ reader: inout WireReader, of export: Export
    ) throws(ProtocolViolation) -> MessageBody {
        let reference = try reader.number()
        guard reference >= 2 else { return try readNewName(&reader, isInterned: reference == 0, export.messages) }
        return try namesIn.meaning(reference - 2, in: export.messages)
    }

    @inline(never)
    private mutating func readNewName(
        _ reader: inout WireReader, isInterned: Bool, _ table: Unmanaged<ClassMessages>
    ) throws(ProtocolViolation) -> MessageBody {
        let name = try reader.text(limit: ProtocolLimits.nameBytes)
        if isInterned { try namesIn.append(InternedName(name: name)) }
        return table._withUnsafeGuaranteedRef { $0.meaning(of: name) }
    }

    /// The next message to the object starts if its turn has come and its bytes are there.
    mutating func startNext(of export: Export) {
        guard phase != .ended else { return }
        let mailbox = export.mailbox
        if mailbox.isIdle, mailbox.isLingering { exports.forget(export) }
        guard !mailbox.isBusy, let call = mailbox.waiting.popFirst(where: { $0.isComplete }) else { return }
        mailbox.isBusy = true
        ready.append(call)
    }

    // MARK: Answers to our calls

    private mutating func receiveReturn(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, for connection: Connection
    ) throws(ProtocolViolation) {
        guard let status = ReturnStatus(rawValue: frame.flags & 0x7F) else {
            throw ProtocolViolation(.malformed, "a Return has an unknown status")
        }
        let question = try reader.number32()
        let index = try questions.answered(question)
        guard !questions.isArriving(index) else {
            throw ProtocolViolation(.outOfStep, "a second Return to one question")
        }
        let tables = try readTables(&reader, connection)
        if frame.bulkLength != nil {
            try checkOpener(reader, tables)
            questions.setArriving(index)
            partials[frame.number] = PartialMessage(
                purpose: .reply(question: question, status, tables))
            return
        }
        let body = frame.retain(reader.offset..<frame.bytes.count)
        complete(
            index, with: Reply(status: status, body: body, bulk: 0, tables: tables))
    }

    /// In the opener of a message in fragments nothing stands behind the tables.
    @inline(never)
    private mutating func checkOpener(_ reader: WireReader, _ tables: MessageTables?) throws(ProtocolViolation) {
        do throws(ProtocolViolation) {
            try reader.end()
        } catch {
            if let tables { afterwards(.release(tables)) }
            throw error
        }
    }

    private mutating func complete(_ index: UInt32, with reply: consuming Reply) {
        let (waiter, timer) = questions.finish(index)
        if let timer { afterwards(.cancelTimer(timer)) }
        if phase == .closing { afterwards(.closeIfIdle) }
        if let waiter {
            afterwards(answer: waiter, with: reply)
        } else {
            // Given up: its references are let go, outside the lock.
            afterwards(.discard(reply))
        }
    }

    /// A fragmented message is complete, or was given up by its sender.
    mutating func receive(bulk number: UInt64, _ bytes: ByteSlice?) throws(ProtocolViolation) {
        guard let partial = partials.removeValue(forKey: number) else {
            // A call that crossed our Goodbye was not kept.
            if goodbyeSent { return }
            throw ProtocolViolation(.unknownName, "fragments arrived of a message that was never begun")
        }
        partial.bytes = bytes
        partial.isAborted = bytes == nil
        switch partial.purpose {
        case .call(let export):
            startNext(of: export)
        case .reply(let question, let status, let tables):
            let reply = Reply(
                status: bytes == nil ? .refused : status, body: bytes ?? .empty, bulk: bytes?.bytes.count ?? 0,
                tables: tables)
            complete(try questions.answered(question), with: reply)
        }
    }

    // MARK: Small frames

    private mutating func receiveRelease(_ reader: inout WireReader) throws(ProtocolViolation) {
        let watermark = try reader.number()
        guard watermark <= sent else {
            throw ProtocolViolation(.unknownName, "a Release names a frame that was never sent")
        }
        let count = try reader.count(minimum: 2)
        for _ in 0..<count {
            if let freed = try exports.release(reader.objectID(), entered: watermark) {
                afterwards(.unexport(freed))
            }
        }
        try reader.end()
    }

    private mutating func receiveCredit(
        _ reader: inout WireReader, flags: UInt8, channel: Channel
    ) throws(ProtocolViolation) {
        let amount = try reader.number()
        try reader.end()
        switch flags {
        case 0:
            guard amount <= UInt64(grants.queuedCalls - credits) else {
                throw ProtocolViolation(.overLimit, "more call credit is given back than was used")
            }
            credits += Int(amount)
            commitPending(to: channel)
        case 1:
            guard channel.bulkCredit(amount) else {
                throw ProtocolViolation(.overLimit, "more bulk credit is given back than was used")
            }
            answerFlow.creditCame()
        case 2:
            guard let left = oneWayCredits else {
                throw ProtocolViolation(.unknownName, "a Credit for one-way messages, which have none of their own")
            }
            guard amount <= UInt64(grants.runningCalls - left) else {
                throw ProtocolViolation(.overLimit, "more credit for one-way messages is given back than was used")
            }
            oneWayCredits = left + Int(amount)
            commitPending(to: channel)
        default:
            throw ProtocolViolation(.malformed, "a Credit of an unknown kind")
        }
    }

    private mutating func receiveFailed(_ reader: inout WireReader) throws(ProtocolViolation) {
        let number = try reader.number()
        let code = try reader.number()
        let text = try reader.text(limit: 256)
        try reader.end()
        guard number <= sent else {
            throw ProtocolViolation(.unknownName, "a Failed names a frame that was never sent")
        }
        let error = ConnectionError(.init(rawValue: Int(clamping: code)), text)
        guard oneWays.failed(number, error) else {
            throw ProtocolViolation(.unknownName, "a Failed names what is no one-way message")
        }
        afterwards(.event(.oneWayFailed(number: number, error)))
    }

    private mutating func receiveGoodbye(
        _ reader: inout WireReader, channel: Channel
    ) throws(ProtocolViolation) {
        let watermark = try reader.number()
        let reason = GoodbyeReason(rawValue: try reader.number())
        let text = try reader.text(limit: 1_024)
        guard watermark <= sent else {
            throw ProtocolViolation(.unknownName, "a Goodbye names a frame that was never sent")
        }
        guard peerGoodbye == nil else { throw ProtocolViolation(.outOfStep, "a second Goodbye") }
        peerGoodbye = (watermark, reason, text)
        oneWays.notTaken(after: watermark)
        // It ends its stream now, and reads ours until what it asked for is answered.
        if reason == .closed { channel.outliveInput() }
        afterwards(.peerSaidGoodbye)
    }
}
