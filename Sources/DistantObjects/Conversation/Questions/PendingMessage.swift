/// An encoded message that waits for credit or room.
///
/// Guarded by the connection's lock.
final class PendingMessage<Waiter, RoomWaiter>: @unchecked Sendable {
    enum Kind {
        case call(Ticket, Waiter)
        case oneWay(OneWayPlace, RoomWaiter)
    }

    let message: OutboundMessage
    let kind: Kind
    /// The message's position among all messages that have waited on the connection.
    let order: UInt64

    var isOneWay: Bool { if case .oneWay = kind { true } else { false } }

    init(message: OutboundMessage, kind: Kind, order: UInt64) {
        self.message = message
        self.kind = kind
        self.order = order
    }
}
