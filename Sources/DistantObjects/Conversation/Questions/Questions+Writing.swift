import KeyedArchive
import PortTransport

// Messages that are written, and those that wait for credit or room.
extension Questions {
    // MARK: Writing

    mutating func write(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: consuming Waiter, _ session: inout Session<Host>,
        _ host: Host
    ) {
        session.memory.giveBackBlobs(&session.outbox)
        session.outbox.append(table.assignNumber(to: ticket))
        session.credit.use(isOneWay: false)
        writeMessage(message, message.isPromise ? [.keepAnswer, .promise] : [], &session, host)
        table.wrote(ticket, number: session.outbox.written, waiter: waiter)
        // A promise may be given up while its call waits to be written.
        if message.isPromise, table.isUnwanted(ticket) { dropPromises([ticket], &session) }
    }

    private mutating func writeOneWay(_ message: OutboundMessage, _ session: inout Session<Host>, _ host: Host) {
        session.credit.use(isOneWay: true)
        writeMessage(message, .oneWay, &session, host)
        oneWays.sent(
            session.outbox.written, underWay: session.credit.oneWaysUnderWay(session.handshake.grants))
    }

    @inline(__always)
    private mutating func writeMessage(
        _ message: OutboundMessage, _ kind: CallFlags, _ session: inout Session<Host>, _ host: Host
    ) {
        var flags = kind
        if let answer = message.answer {
            flags.insert(.toAnswer)
            CallFrame.append(.answer(table.number(of: answer)), to: &session.outbox)
        } else {
            CallFrame.append(.object(message.target), to: &session.outbox)
        }
        CallFrame.append(message.name, names.reference(to: message.name), to: &session.outbox)
        if let deadline = message.deadline {
            flags.insert(.deadline)
            session.outbox.append(deadline.microseconds(at: host.now))
        }
        if let metadata = message.metadata, session.handshake.grants.features.contains(.metadata) {
            flags.insert(.metadata)
            CallFrame.append(metadata: metadata, to: &session.outbox)
        }
        session.outbox.append(message.argumentCount)
        session.writeTables(of: message.encoder, host) { table.number(of: $0) }
        session.outbox.finish(.call, flags: flags.rawValue, with: message.encoder)
    }

    // MARK: Waiting

    /// Whether a message may be written now.
    ///
    /// Besides the peer's credit, this side limits how many bytes are unsent, separately for small and large messages.
    /// A message also queues behind earlier ones of its kind.
    @inline(__always)
    mutating func mayWrite(
        _ message: OutboundMessage, isOneWay: Bool, _ session: inout Session<Host>, _ host: Host
    ) -> Bool {
        if session.credit.mayBegin(isOneWay: isOneWay), pending.isEmpty, !message.isLarge, !host.isQueueFull {
            return true
        }
        return mayWriteBehindOthers(message, isOneWay: isOneWay, &session, host)
    }

    @inline(never)
    private mutating func mayWriteBehindOthers(
        _ message: OutboundMessage, isOneWay: Bool, _ session: inout Session<Host>, _ host: Host
    ) -> Bool {
        let credit = session.credit
        message.isNested = message.role != .passedOn && session.handshake.knowsPromises && host.isServing
        let mayBorrow = !isOneWay && message.mayBorrow && credit.mayBorrow
        return (mayBorrow || credit.mayBegin(isOneWay: isOneWay)) && !host.isQueueFull
            && pending.isEmpty(before: message, oneWay: isOneWay && credit.separatesOneWays)
            && (!message.isNested || unwritten(by: message, host).isEmpty)
            && (!message.isLarge || host.hasRoom(forLargeMessage: message.encoder.byteCount))
    }

    /// Has a message wait for credit or room.
    ///
    /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
    mutating func wait(
        _ message: OutboundMessage, _ kind: PendingMessage<Waiter, RoomWaiter>.Kind, oneWay: Bool,
        _ host: Host
    ) {
        if message.isNested { promote(unwritten(by: message, host), host) }
        pending.append(message, kind, oneWay: oneWay)
    }

    /// Treats queued promises as nested messages because a nested message names them, and in turn the promises that
    /// they name.
    ///
    /// A nested message (see `SendQueues`) may be sent before ordinary ones, and the promises that it names have to be
    /// sent before it.
    private mutating func promote(_ tickets: [Ticket], _ host: Host) {
        var tickets = tickets
        var promises: [PendingMessage<Waiter, RoomWaiter>] = []
        while let ticket = tickets.popLast() {
            guard let promise = pending.takePromise(ticket) else { continue }
            promises.append(promise)
            tickets += unwritten(by: promise.message, host)
        }
        if !promises.isEmpty { pending.promote(promises) }
    }

    /// The calls whose answers a message names and that are not written.
    private mutating func unwritten(by message: OutboundMessage, _ host: Host) -> [Ticket] {
        var tickets = [message.answer].compactMap(\.self)
        message.encoder.forEachExternal { object in
            if case .proxy(.answer(let ticket)) = host.entry(of: object) { tickets.append(ticket) }
        }
        return tickets.filter { table.phase(of: $0) == .reserved }
    }

    /// Writes the oldest queued message that has credit and room.
    ///
    /// The function writes only one message, because the channel knows its remaining room only once it has that
    /// message.
    ///
    /// - Returns: Whether a message was written.
    mutating func writeNextPending(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> Bool {
        session.credit.takeFresh()
        let credit = session.credit
        guard !host.isQueueFull,
            let next = pending.popFirst(
                calls: credit.calls > 0, oneWays: credit.mayBegin(isOneWay: true), borrowed: credit.mayBorrow,
                fits: { host.hasRoom(forLargeMessage: $0) })
        else { return false }
        switch next.kind {
        case .call(let ticket, let waiter):
            write(next.message, ticket, waiter, &session, host)
        case .oneWay(_, let waiter):
            writeOneWay(next.message, &session, host)
            actions.append(.oneWay(waiter, nil))
        }
        actions.append(.recycle(next.message))
        return true
    }

    // MARK: One-way messages

    /// Writes a one-way message if there is credit and room.
    mutating func offerOneWay(_ message: OutboundMessage, _ session: inout Session<Host>, _ host: Host) -> Bool {
        guard mayWrite(message, isOneWay: true, &session, host) else { return false }
        writeOneWay(message, &session, host)
        return true
    }

    /// Writes a one-way message, or queues it if there is no credit or room.
    mutating func sendOneWay(
        _ message: OutboundMessage, _ place: OneWayPlace, _ waiter: RoomWaiter, _ session: inout Session<Host>,
        _ host: Host
    ) -> SendOutcome<Void> {
        if let whyClosed = session.whyClosed { return .failed(whyClosed) }
        if let withdrawal = place.withdrawal { return .failed(withdrawal) }
        if offerOneWay(message, &session, host) { return .written(()) }
        wait(message, .oneWay(place, waiter), oneWay: session.credit.separatesOneWays, host)
        return .waiting(())
    }

    /// Removes a one-way message from the queue because its sender stops waiting.
    mutating func withdrawOneWay(_ place: OneWayPlace, _ error: any Error, _ actions: inout [Action<Host>]) {
        place.withdrawal = error
        let withdrawn = pending.removeFirst {
            if case .oneWay(let other, _) = $0.kind { return other === place }
            return false
        }
        guard let withdrawn, case .oneWay(_, let waiter) = withdrawn.kind else { return }
        actions.append(.recycle(withdrawn.message))
        actions.append(.oneWay(waiter, error))
    }

    /// Enters the peer's report that a one-way message has failed.
    mutating func receive(
        _ frame: FailedFrame, after sent: UInt64, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard frame.number <= sent else {
            throw ProtocolViolation(.unknownName, "a Failed names a frame that was never sent")
        }
        guard oneWays.failed(frame.number, frame.error) else {
            throw ProtocolViolation(.unknownName, "a Failed names what is no one-way message")
        }
        actions.append(.event(.oneWayFailed(number: frame.number, frame.error)))
    }
}
