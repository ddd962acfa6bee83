import KeyedArchive
import PortTransport

// Commit: what names are given, watermarks written and a frame appended in one critical section.
extension PortState {
    /// Room for a header, tables and a body in one frame; what is larger goes out in fragments.
    private static var wholeFrame: Int { 61_440 }
    /// The header of a frame and the length of what follows it in fragments.
    private static var headers: Int { 16 }

    mutating func append(_ kind: FrameKind, flags: UInt8 = 0, to channel: Channel) {
        sent += 1
        _ = channel.enqueue(kind: kind.rawValue, flags: flags, prefix: prefix.bytes)
    }

    private mutating func append(_ kind: FrameKind, flags: UInt8, body: OutboundMessage, to channel: Channel) -> UInt64
    {
        sent += 1
        let encoder = body.encoder
        if prefix.count + encoder.byteCount <= Self.wholeFrame {
            if let parts = encoder.plainParts {
                prefix.append(contentsOf: parts.header)
                return channel.enqueue(kind: kind.rawValue, flags: flags, prefix: prefix.bytes, body: parts.values)
            }
            encoder.forEachSegment { prefix.append(contentsOf: $0) }
            return channel.enqueue(kind: kind.rawValue, flags: flags, prefix: prefix.bytes)
        }
        return channel.enqueue(
            kind: kind.rawValue, flags: flags, prefix: prefix.bytes,
            segments: encoder.takeSegments().map { OutboundSegment(owner: $0.owner, bytes: $0.bytes) })
    }

    /// Commits a call; the caller has made sure of credit.
    ///
    /// - Returns: The number of its opener.
    mutating func commitCall(_ message: OutboundMessage, question: Ticket?, to channel: Channel) -> UInt64 {
        var flags: CallFlags = []
        prefix.reset()
        if let question {
            prefix.append(questions.name(question))
        } else {
            flags.insert(.oneWay)
        }
        prefix.append(message.target)
        switch namesOut.reference(to: message.name) {
        case .new:
            prefix.append(byte: 0)
            prefix.append(message.name)
        case .inline:
            prefix.append(byte: 1)
            prefix.append(message.name)
        case .known(let number):
            prefix.append(UInt64(number) + 2)
        }
        if let deadline = message.deadline {
            flags.insert(.deadline)
            prefix.append(deadline.microseconds(on: channel.loop))
        }
        prefix.append(message.argumentCount)
        appendTables(of: message.encoder)
        guard question == nil else {
            credits -= 1
            return append(.call, flags: flags.rawValue, body: message, to: channel)
        }
        if let left = oneWayCredits { oneWayCredits = left - 1 } else { credits -= 1 }
        let number = append(.call, flags: flags.rawValue, body: message, to: channel)
        oneWays.sent(sent)
        return number
    }

    /// Commits the answer to a call of the peer.
    mutating func commitReturn(
        _ message: OutboundMessage, status: ReturnStatus, question: UInt32, keep: Bool, to channel: Channel
    ) {
        prefix.reset()
        prefix.append(question)
        appendTables(of: message.encoder)
        answers.finish(question, keep: keep)
        answerFlow.add(prefix.count + message.encoder.byteCount + Self.headers)
        _ = append(.return, flags: status.rawValue, body: message, to: channel)
    }

    /// Writes the reference table and the shapes.
    ///
    /// Ids are found or given here and nowhere else.
    private mutating func appendTables(of encoder: ObjectEncoder) {
        guard encoder.hasTables else {
            prefix.append(byte: 0)
            prefix.append(byte: 0)
            return
        }
        prefix.append(encoder.externalCount)
        encoder.forEachExternal { object in
            if let proxy = object as? DistantObject, proxy.place.connection != nil {
                prefix.append(byte: 0)
                prefix.append(proxy.place.id)
            } else {
                prefix.append(byte: 1)
                prefix.append(exports.mention(object, messages: ClassMessages.known(object), number: sent + 1))
            }
        }
        prefix.append(encoder.shapeCount)
        encoder.forEachShape { shape in
            switch shapesOut.reference(to: shape, taking: shape.definition.count) {
            case .known(let number):
                prefix.append(UInt64(number) + 2)
            case .new:
                prefix.append(byte: 0)
                appendDefinition(shape)
            case .inline:
                prefix.append(byte: 1)
                appendDefinition(shape)
            }
        }
    }

    private mutating func appendDefinition(_ shape: Shape) {
        let definition = shape.definition
        prefix.append(definition.count)
        definition.withUnsafeBytes { prefix.append(contentsOf: $0) }
    }

    /// Whether header and tables fit in an opener, and the whole in what the peer takes.
    borrowing func checkSize(of message: OutboundMessage) throws {
        let encoder = message.encoder
        guard message.name.utf8.count <= ProtocolLimits.nameBytes else {
            throw ConnectionError(
                .noSuchMessage, "the name of a message has at most \(ProtocolLimits.nameBytes) bytes",
                context: message.name.cut(toBytes: 64))
        }
        guard encoder.externalCount <= ProtocolLimits.referencesInMessage else {
            throw ConnectionError(
                .tooLarge,
                "a message carries at most \(ProtocolLimits.referencesInMessage) references, this one has \(encoder.externalCount)",
                context: message.name)
        }
        if exports.count + encoder.externalCount > limits.exports {
            let fresh = encoder.externals.count { !exports.contains($0) }
            guard exports.count + fresh <= limits.exports else {
                throw ConnectionError(
                    .overloaded,
                    "the peer refers to \(exports.count - 1) objects of this process; more than \(limits.exports - 1) are not allowed",
                    context: message.name)
            }
        }
        var tables = message.name.utf8.count + encoder.externalCount * 11
        encoder.forEachShape { tables += $0.definition.count + 5 }
        guard encoder.shapeCount <= ProtocolLimits.shapesInMessage, tables <= ProtocolLimits.openerBytes else {
            throw ConnectionError(
                .tooLarge, "the classes of this message have too many and too long keys for one message",
                context: message.name)
        }
        guard UInt64(encoder.byteCount) <= grants.message else {
            throw ConnectionError(
                .tooLarge, "the message has \(encoder.byteCount) bytes; the peer takes at most \(grants.message)",
                context: message.name)
        }
    }

    // MARK: Credit

    /// Commits what waited for credit or room, in the order it came.
    mutating func commitPending(to channel: Channel) {
        while !pending.isEmpty, !channel.isLaneFull,
            let next = pending.popFirst(
                calls: credits > 0, oneWays: oneWayCredits.map { $0 > 0 } ?? false,
                fits: { channel.hasBulkRoom(for: $0) })
        {
            switch next.kind {
            case .question(let ticket, let waiter):
                let number = commitCall(next.message, question: ticket, to: channel)
                questions.commit(ticket, number: number, waiter: waiter)
            case .oneWay(_, let waiter):
                _ = commitCall(next.message, question: nil, to: channel)
                afterwards(.oneWay(waiter, nil))
            }
            afterwards(.recycle(next.message))
        }
    }

    /// Gives a started call's room back to the peer.
    ///
    /// Sent for half the queue at once, so that most calls cost no frame.
    mutating func giveBackCredit(to channel: Channel) {
        owedCredits += 1
        guard owedCredits >= max(1, limits.queuedCalls / 2) || inboundCredits == 0, !holdsCredit else { return }
        commitCredit(to: channel)
    }

    /// Both sides have said Hello.
    mutating func setCredits() {
        credits = grants.queuedCalls
        guard grants.features & ProtocolLimits.separatesOneWays != 0 else { return }
        oneWayCredits = grants.runningCalls
        inboundOneWayCredits = limits.runningCalls
    }

    /// The peer has used one.
    ///
    /// What it is owed is sent at once when it has none left: what it waits to send need not be for the objects that those in
    /// the queue wait for.
    mutating func useInboundCredit(isOneWay: Bool, to channel: Channel) throws(ProtocolViolation) {
        guard isOneWay, let left = inboundOneWayCredits else {
            guard inboundCredits > 0 else {
                throw ProtocolViolation(.overLimit, "more than the \(limits.queuedCalls) calls granted are queued")
            }
            inboundCredits -= 1
            if inboundCredits == 0, owedCredits > 0, !holdsCredit { commitCredit(to: channel) }
            return
        }
        guard left > 0 else {
            throw ProtocolViolation(.overLimit, "more one-way messages are under way than were granted")
        }
        inboundOneWayCredits = left - 1
        if left == 1 { commitOneWayCredit(to: channel) }
    }

    /// Gives the room of a one-way message that has ended back to the peer.
    ///
    /// As with calls, most cost no frame.
    mutating func giveBackOneWayCredit(to channel: Channel) {
        guard let left = inboundOneWayCredits else { return }
        owedOneWayCredits += 1
        guard owedOneWayCredits >= max(1, limits.runningCalls / 2) || left == 0 else { return }
        commitOneWayCredit(to: channel)
    }

    private mutating func commitOneWayCredit(to channel: Channel) {
        guard owedOneWayCredits > 0, !goodbyeSent, let left = inboundOneWayCredits else { return }
        prefix.reset()
        prefix.append(owedOneWayCredits)
        inboundOneWayCredits = left + owedOneWayCredits
        owedOneWayCredits = 0
        append(.credit, flags: 2, to: channel)
    }

    /// The peer has read what it was sent, or a part of it.
    mutating func giveBackHeldCredit(to channel: Channel) {
        holdsCredit = false
        commitCredit(to: channel)
    }

    private mutating func commitCredit(to channel: Channel) {
        // Answers need no credit: a peer that asks and does not read must not fill this side's memory with them.
        guard !answerFlow.isAbove(channel) else {
            holdsCredit = true
            channel.tellWhenAnswers(areAtMost: limits.unreadAnswers / 2)
            return
        }
        prefix.reset()
        prefix.append(owedCredits)
        inboundCredits += owedCredits
        owedCredits = 0
        append(.credit, flags: 0, to: channel)
    }

    // MARK: Small frames

    mutating func commitHello(to channel: Channel, name: String, isInitiator: Bool) {
        if !channel.canShare { sharing = .never }
        prefix.reset()
        for byte in ProtocolLimits.magic { prefix.append(byte: byte) }
        prefix.append(ProtocolLimits.version)
        let sharing = sharing == .never ? 0 : ProtocolLimits.sharesMemory | ProtocolLimits.knowsDecline
        prefix.append((isInitiator ? ProtocolLimits.initiator : 0) | sharing | ProtocolLimits.separatesOneWays)
        prefix.append(limits.queuedCalls)
        prefix.append(limits.runningCalls)
        prefix.append(UInt64(limits.message))
        prefix.append(name.cut(toBytes: ProtocolLimits.nameBytes))
        append(.hello, to: channel)
    }

    mutating func commitGoodbye(_ reason: GoodbyeReason, _ text: String, to channel: Channel) {
        guard !goodbyeSent else { return }
        goodbyeSent = true
        prefix.reset()
        prefix.appendGoodbye(entered: entered, reason, text)
        append(.goodbye, to: channel)
        // What others commit from here on comes too late.
        channel.enqueueNoMore()
    }

    mutating func commitNumber(_ kind: FrameKind, _ number: UInt64, flags: UInt8 = 0, to channel: Channel) {
        prefix.reset()
        prefix.append(number)
        append(kind, flags: flags, to: channel)
    }

    /// Sends a ping or a barrier, or has it wait until fewer are unanswered.
    mutating func commitControl(
        _ kind: FrameKind, _ wait: ControlWait, to channel: Channel
    ) {
        guard pings.count < ProtocolLimits.barriers else { return waitingControls.append((kind, wait)) }
        let token = nextToken
        nextToken += 1
        pings[token] = wait
        commitNumber(kind, token, to: channel)
    }

    /// Takes out the pings and barriers that wait for an answer or for their turn.
    mutating func takeControls() -> [UnsafeContinuation<Void, any Error>] {
        defer { pings = [:] }
        return (Array(pings.values) + waitingControls.removeAll().map(\.wait)).compactMap { $0.continuation.take() }
    }

    /// Answers a ping, or a barrier that waits for nothing.
    mutating func commitPong(_ token: UInt64, to channel: Channel) throws(ProtocolViolation) {
        commitNumber(.pong, token, to: channel)
        unwrittenPongs.append(sent)
        guard unwrittenPongs.count > ProtocolLimits.unwrittenPongs else { return }
        while let first = unwrittenPongs.first, channel.isWritten(first) { _ = unwrittenPongs.popFirst() }
        guard unwrittenPongs.count <= ProtocolLimits.unwrittenPongs else {
            throw ProtocolViolation(
                .overLimit, "more than \(ProtocolLimits.unwrittenPongs) pings are unanswered, and no answer is read")
        }
    }

    /// Says what went wrong with a one-way message.
    mutating func commitFailed(_ number: UInt64, _ error: ConnectionError, to channel: Channel) {
        prefix.reset()
        prefix.append(number)
        prefix.append(UInt64(error.code.rawValue))
        prefix.append(error.description.cut(toBytes: 256))
        answerFlow.add(prefix.count + Self.headers)
        append(.failed, to: channel)
    }

    /// Tells the owner which of its objects are no longer referred to here.
    ///
    /// The ids of one frame and the watermark are sampled together, under the lock under which mentions are entered.
    mutating func commitReleases(_ dead: DyingReferences, to channel: Channel) {
        guard let first = dead.first else { return }
        if dead.rest.isEmpty {
            guard imports.releaseOne(first) else { return }
            prefix.reset()
            prefix.append(entered)
            prefix.append(1)
            prefix.append(first)
            return append(.release, to: channel)
        }
        var rest = ([first] + dead.rest)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(ProtocolLimits.referencesInMessage)
            rest = rest.dropFirst(chunk.count)
            let released = chunk.filter { imports.releaseOne($0) }
            guard !released.isEmpty else { continue }
            prefix.reset()
            prefix.append(entered)
            prefix.append(released.count)
            for id in released { prefix.append(id) }
            append(.release, to: channel)
        }
    }
}

/// The fixed numbers of protocol version 1.
enum ProtocolLimits {
    static let version: UInt64 = 1
    /// The bit of the features that says: this party greets first.
    static let initiator: UInt64 = 1
    /// The bit of the features that says: this party goes on in shared memory if the other one does.
    static let sharesMemory: UInt64 = 2
    /// The bit of the features that says: one-way messages have a credit of their own if the other party says so too.
    static let separatesOneWays: UInt64 = 4
    /// The bit of the features that says: this party knows what it means if its memory is declined.
    static let knowsDecline: UInt64 = 8
    static let referencesInMessage = 4_096
    static let shapesInMessage = 4_096
    static let openerBytes = 49_152
    /// What may stand before a body: the tables, a name and a few numbers.
    static let tablesBytes = 53_248
    static let nameBytes = 1_024
    /// Every party takes messages of this size, whatever its `Hello` says.
    static let smallestMessage: UInt64 = 4_096
    static let barriers = 256
    /// More than a peer that keeps to the rules can have unanswered, since pings and barriers count together.
    static let unwrittenPongs = 1_024
    /// Calls being refused take numbers too, at most one for each thread of a loop.
    static let refusals = 64

    /// The bytes "DOBJ".
    static var magic: [UInt8] { [0x44, 0x4F, 0x42, 0x4A] }
}
