import KeyedArchive
import PortTransport

// Messages that wait for credit or room.
extension Conversation {
    /// Whether a message may be written now.
    ///
    /// Besides the peer's credit, this side limits how many bytes are unsent, separately for small and large messages.
    /// A message also queues behind earlier ones of its kind.
    @inline(__always)
    mutating func mayWrite(_ message: OutboundMessage, isOneWay: Bool, _ host: Host) -> Bool {
        if credit.mayBegin(isOneWay: isOneWay), pending.isEmpty, !message.isLarge, !host.isQueueFull { return true }
        return mayWriteBehindOthers(message, isOneWay: isOneWay, host)
    }

    @inline(never)
    private mutating func mayWriteBehindOthers(_ message: OutboundMessage, isOneWay: Bool, _ host: Host) -> Bool {
        message.isNested = message.role != .passedOn && knowsPromises && host.isServing
        let mayBorrow = !isOneWay && message.mayBorrow && credit.mayBorrow(asked: numbersAnswered)
        return (mayBorrow || credit.mayBegin(isOneWay: isOneWay)) && !host.isQueueFull
            && pending.isEmpty(before: message, oneWay: isOneWay && credit.separatesOneWays)
            && (!message.isNested || unwritten(by: message, host).isEmpty)
            && (!message.isLarge || host.hasRoom(forLargeMessage: message.encoder.byteCount))
    }

    /// Has a message wait for credit or room.
    ///
    /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
    mutating func wait(
        _ message: OutboundMessage, _ kind: PendingMessage<Waiter, RoomWaiter>.Kind, oneWay: Bool, _ host: Host
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
        return tickets.filter { questions.phase(of: $0) == .reserved }
    }

    /// Writes the oldest queued message that has credit and room.
    ///
    /// The function writes only one message, because the channel knows its remaining room only once it has that
    /// message.
    ///
    /// - Returns: Whether a message was written.
    mutating func writeNextPending(_ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        credit.takeFresh()
        guard !host.isQueueFull,
            let next = pending.popFirst(
                calls: credit.calls > 0, oneWays: credit.mayBegin(isOneWay: true),
                borrowed: credit.mayBorrow(asked: numbersAnswered), fits: { host.hasRoom(forLargeMessage: $0) })
        else { return false }
        switch next.kind {
        case .call(let ticket, let waiter):
            writeCall(next.message, ticket, waiter, host)
        case .oneWay(_, let waiter):
            writeOneWay(next.message, host)
            actions.append(.oneWay(waiter, nil))
        }
        actions.append(.recycle(next.message))
        return true
    }
}
