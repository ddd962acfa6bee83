/// An encoded message that waits for credit or room.
///
/// Guarded by the connection's lock.
final class PendingCommit: @unchecked Sendable {
    enum Kind {
        case question(Ticket, Waiter)
        case oneWay(OneWayPlace, OneWayWaiter)
    }

    let message: OutboundMessage
    let kind: Kind
    /// Rises with each that comes.
    let order: UInt64

    init(message: OutboundMessage, kind: Kind, order: UInt64) {
        self.message = message
        self.kind = kind
        self.order = order
    }
}
