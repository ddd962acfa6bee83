/// Where a proxy's messages go: to an object of the peer, or to one of this process.
///
/// It is apart from the proxy, to which the import table has a weak reference: counting references to such an object costs
/// several times as much, and each call counts references to this one.
final class MessagePlace: Sendable {
    /// Retained by hand, so that a call does not count it: the call keeps the place alive while it uses this.
    ///
    /// `nil` for an object of this process.
    let connection: Unmanaged<Connection>?
    let id: ObjectID
    /// The object, if it is one of this process.
    let object: (any Vendable)?

    init(_ id: ObjectID, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        object = nil
    }

    init(_ object: any Vendable) {
        connection = nil
        id = .rootDirectory
        self.object = object
    }

    deinit { connection?.takeRetainedValue().referenceDied(id) }

    var heldConnection: Connection? {
        withExtendedLifetime(self) { connection?.takeUnretainedValue() }
    }

    /// A message to the object, to be filled.
    @inline(__always)
    func takeMessage() -> OutboundMessage {
        guard let connection else { return OutboundMessage(PortCoder.local.settings, owner: PortCoder.local) }
        let message = connection._withUnsafeGuaranteedRef { $0.coder.takeMessage() }
        message.target = id
        return message
    }
}
