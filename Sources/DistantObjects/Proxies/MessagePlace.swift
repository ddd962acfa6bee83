/// The destination of a proxy's messages: an object of the peer, or one of this process.
///
/// It is separate from the proxy because each call retains it. The import table holds the proxy weakly, and retaining an
/// object that has weak references costs several times as much.
final class MessagePlace: Sendable {
    /// The connection; `nil` for an object of this process.
    ///
    /// Retained by hand, so that calls do not retain it again: a call keeps this place alive while it uses the connection.
    let connection: Unmanaged<Connection>?
    let id: ObjectID
    /// The object's class, if the peer has described it.
    let describedClass: DescribedClass?
    /// The object, if it is one of this process.
    let object: (any Vendable)?

    init(_ id: ObjectID, of described: DescribedClass?, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        describedClass = described
        object = nil
    }

    init(_ object: any Vendable) {
        connection = nil
        id = .rootDirectory
        describedClass = nil
        self.object = object
    }

    deinit { connection?.takeRetainedValue().referenceDied(id) }

    var heldConnection: Connection? {
        withExtendedLifetime(self) { connection?.takeUnretainedValue() }
    }

    /// An empty message to the object.
    @inline(__always)
    func takeMessage() -> OutboundMessage {
        guard let connection else { return OutboundMessage(PortCoder.local.settings, owner: PortCoder.local) }
        let message = connection._withUnsafeGuaranteedRef { $0.coder.takeMessage() }
        message.target = id
        return message
    }
}
