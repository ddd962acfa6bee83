// One-way messages of this side.
extension Conversation {
    /// Writes a one-way message if there is credit and room.
    mutating func offerOneWay(_ message: OutboundMessage, _ host: Host) -> Bool {
        guard mayWrite(message, isOneWay: true, host) else { return false }
        writeOneWay(message, host)
        return true
    }

    /// Writes a one-way message, or queues it if there is no credit or room.
    mutating func sendOneWay(
        _ message: OutboundMessage, _ place: OneWayPlace, _ waiter: RoomWaiter, _ host: Host
    ) -> SendOutcome<Void> {
        if let whyClosed { return .failed(whyClosed) }
        if let withdrawal = place.withdrawal { return .failed(withdrawal) }
        if offerOneWay(message, host) { return .written(()) }
        wait(message, .oneWay(place, waiter), oneWay: credit.separatesOneWays, host)
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

    mutating func writeOneWay(_ message: OutboundMessage, _ host: Host) {
        credit.use(isOneWay: true)
        writeMessage(message, .oneWay, host)
        oneWays.sent(sent, underWay: credit.oneWaysUnderWay(handshake.grants))
    }

    mutating func receive(
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
}
