import KeyedArchive
import PortTransport

/// The tables that a side needs from its first call on.
struct CallerTables<Waiter>: ~Copyable, MadeOnDemand {
    var questions = QuestionTable<Waiter>()
    var names = OutboundInterning<String>()
}

/// The caller's half of a conversation: the calls and one-way messages of this side.
///
/// Each is checked and reserved, waits for credit or room if there is none, and is written. A call is then answered, or given up.
/// Each transition assigns ids, writes watermarks and completes the frame in one step.
struct Questions<Host: ConversationHost>: ~Copyable {
    typealias Waiter = Host.Waiter
    typealias RoomWaiter = Host.RoomWaiter

    var tables = LazyBox<CallerTables<Waiter>>()
    var record = LazyBox<OneWayRecord>()
    /// Encoded messages that wait for credit or room.
    var pending = SendQueues<Waiter, RoomWaiter>()

    var table: QuestionTable<Waiter> {
        @inline(__always) mutating _read { yield tables.value.questions }
        @inline(__always) _modify { yield &tables.value.questions }
    }
    var names: OutboundInterning<String> {
        @inline(__always) mutating _read { yield tables.value.names }
        @inline(__always) _modify { yield &tables.value.names }
    }
    /// The record of sent one-way messages and of those that were lost.
    var oneWays: OneWayRecord {
        @inline(__always) get { record.read { $0 } ?? OneWayRecord() }
        @inline(__always) _modify { yield &record.value }
    }

    /// The number of calls that are under way.
    var count: Int { tables.read { Int($0.questions.count) } ?? 0 }
    /// The number of question numbers that were ever used.
    var numbers: Int { tables.read { $0.questions.numbers } ?? 0 }
    /// Whether the answer to a written call is awaited; promises do not count.
    var isAwaited: Bool { tables.read { $0.questions.isAwaited } ?? false }
    /// Whether there are one-way messages that were lost and not reported.
    var hasLosses: Bool { record.read { $0.hasLosses } ?? false }

    // MARK: Calls

    /// Asks a question: writes the call, or queues it if there is no credit or room.
    ///
    /// - Parameter scope: The scope that the question belongs to; see `QuestionTable.isOpen(_:in:)`.
    @inline(__always)
    mutating func send(
        _ message: OutboundMessage, in scope: ObjectIdentifier?, _ waiter: consuming Waiter,
        _ session: inout Session<Host>, _ host: Host
    ) -> SendOutcome<Ticket> {
        do { try session.checkOpen(message, host) } catch { return .failed(error) }
        return send(message, table.reserve(in: scope), waiter, &session, host)
    }

    /// Writes the call of a reserved question, or queues it if there is no credit or room.
    mutating func send(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: consuming Waiter, _ session: inout Session<Host>,
        _ host: Host
    ) -> SendOutcome<Ticket> {
        guard mayWrite(message, isOneWay: false, &session, host) else {
            // The peer's call has given its room in the window back, so that the window does not bound the calls that
            // wait here.
            let limit = session.limits.waitingBytes
            if message.role == .passedOn, pending.bytesPassedOn > 0,
                pending.bytesPassedOn + message.encoder.byteCount > limit
            {
                table.finish(ticket.index)
                return .failed(
                    ConnectionError(
                        .overloaded, "more than \(limit) bytes of calls that are sent back wait for room",
                        context: message.name))
            }
            wait(message, .call(ticket, waiter), oneWay: false, host)
            return .waiting(ticket)
        }
        write(message, ticket, waiter, &session, host)
        return .written(ticket)
    }

    /// Writes a call as a promise, or queues it if there is no credit or room.
    ///
    /// - Throws: A `ConnectionError` if the peer does not know promises, has too many, or the connection is closed.
    mutating func sendPromise(
        _ message: OutboundMessage, _ waiter: consuming Waiter, _ session: inout Session<Host>, _ host: Host
    ) throws -> SendOutcome<Ticket> {
        try session.checkOpen(message, host)
        guard session.handshake.knowsPromises else {
            throw ConnectionError(
                .notAvailable,
                "the other process does not know promises (bit 32 of the features in its Hello); await the result instead",
                context: message.name)
        }
        guard Int(table.promises) < ProtocolLimits.keptAnswers else {
            throw ConnectionError(
                .overloaded, "more than \(ProtocolLimits.keptAnswers) promises are held; the call was not sent",
                context: message.name)
        }
        message.role = .promise
        return send(message, table.reservePromise(), waiter, &session, host)
    }

    /// Checks that a reserved question can be written; otherwise frees its slot.
    ///
    /// - Throws: `CancellationError` if the caller has given up; a `ConnectionError` if the connection is closed.
    mutating func checkReserved(_ ticket: Ticket, _ session: inout Session<Host>) throws {
        guard table.phase(of: ticket) == .reserved else {
            // The caller has given up since it reserved the question.
            if table.phase(of: ticket) == .withdrawn { table.finish(ticket.index) }
            throw CancellationError()
        }
        if let whyClosed = session.whyClosed {
            table.finish(ticket.index)
            throw whyClosed
        }
    }

    /// Fails a call whose caller stops waiting.
    ///
    /// A call that was written keeps its question until the peer's `Return` comes.
    mutating func giveUp(
        _ ticket: Ticket, _ error: any Error, _ session: inout Session<Host>, _ actions: inout [Action<Host>]
    ) {
        switch table.phase(of: ticket) {
        case .reserved:
            guard
                let waiting = pending.removeFirst(where: {
                    if case .call(let other, _) = $0.kind { return other == ticket }
                    return false
                }), case .call(_, let waiter) = waiting.kind
            else {
                // The caller is about to send the call, and will see the withdrawal.
                return table.withdraw(ticket)
            }
            if let timer = table.finish(ticket.index).timer { actions.append(.cancelTimer(timer)) }
            actions.append(.recycle(waiting.message))
            actions.append(.fail(waiter, error))
        case .sent:
            guard let given = table.abandon(ticket) else { return }
            session.outbox.write(CancelFrame(question: given.wire))
            actions.append(.fail(given.waiter, error))
            actions.append(.abort(given.number))
            if session.phase == .closing { actions.append(.closeIfIdle) }
            if let timer = given.timer { actions.append(.cancelTimer(timer)) }
        case .free, .withdrawn, .abandoned, .answered, nil: break
        }
    }

    /// Writes the `Drop` frames for promises that this side no longer uses.
    mutating func dropPromises(_ promises: [Ticket], _ session: inout Session<Host>) {
        guard session.phase != .ended else { return }
        for promise in promises {
            if let number = table.dropPromise(promise) { session.outbox.write(DropFrame(question: number)) }
        }
    }

    // MARK: Answers

    mutating func receiveReturn(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ session: inout Session<Host>, _ host: Host,
        _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) {
        let header = try ReturnFrame(reading: &reader, flags: frame.ownFlags)
        let (status, question) = (header.status, header.question)
        let index = try table.answered(question)
        guard !table.isArriving(index) else {
            throw ProtocolViolation(.outOfStep, "a second Return to one question")
        }
        let references = try session.readTables(&reader, host, &actions.others)
        try session.checkBody(of: frame, reader, references, &actions.others)
        if status == .result, table.promises > 0, table.isPromise(index) {
            let isEmpty = frame.messageLength == nil && references == nil && reader.isWithoutValue
            try checkPromised(index, isEmpty: isEmpty)
        }
        if frame.messageLength != nil {
            table.setArriving(index)
            let partial = PartialMessage(recipient: .reply(question: question, status, references), of: frame)
            return session.large.begin(partial, frame)
        }
        if references == nil, table.promiseAnswered(index) { return }
        let body = frame.retain(reader.offset..<frame.bytes.count)
        complete(
            index, with: Reply(status: status, body: body, largeBytes: 0, tables: references), &session, &actions)
    }

    /// Checks the Return of a promise that has not failed.
    private mutating func checkPromised(_ index: UInt32, isEmpty: Bool) throws(ProtocolViolation) {
        guard table.isDropped(index) else {
            throw ProtocolViolation(.outOfStep, "the result of a promise was returned before the promise was dropped")
        }
        guard isEmpty else { throw ProtocolViolation(.malformed, "the Return of a promise has a value") }
    }

    /// Completes an answer whose fragments have come.
    ///
    /// - Parameter bytes: Nil if the peer has aborted it.
    mutating func complete(
        _ question: UInt32, _ status: ReturnStatus, _ references: MessageTables?, _ bytes: ByteSlice?,
        _ session: inout Session<Host>, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) {
        let reply = Reply(
            status: bytes == nil ? .refused : status, body: bytes ?? .empty, largeBytes: bytes?.bytes.count ?? 0,
            tables: references)
        complete(try table.answered(question), with: reply, &session, &actions)
    }

    private mutating func complete(
        _ index: UInt32, with reply: consuming Reply, _ session: inout Session<Host>, _ actions: inout Actions<Host>
    ) {
        // The Return of a promise only says that the promise has failed, or that it was dropped.
        if table.promiseAnswered(index) { return actions.append(.discard(reply)) }
        let (waiter, timer) = table.finish(index)
        if let timer { actions.append(.cancelTimer(timer)) }
        if session.phase == .closing { actions.append(.closeIfIdle) }
        if reply.saysThatPeerCloses { session.life.peerIsClosing = true }
        if let waiter {
            actions.append(answer: waiter, with: reply)
        } else {
            // The caller has given up; the answer's references are released.
            actions.append(.discard(reply))
        }
    }
}
