import Synchronization

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
    ///
    /// It may come after the object itself, with a later message.
    private let describedClass = AtomicLazyReference<DescribedClass>()
    /// The object, if it is one of this process.
    let object: (any Vendable)?

    init(_ id: ObjectID, of described: DescribedClass?, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        if let described { _ = describedClass.storeIfNil(described) }
        object = nil
    }

    init(_ object: any Vendable) {
        connection = nil
        id = .rootDirectory
        self.object = object
    }

    /// Notes the object's class, unless it is known.
    func describe(as described: DescribedClass) {
        if describedClass.load() == nil { _ = describedClass.storeIfNil(described) }
    }

    /// The class of the object, if it is known.
    var described: DescribedClass? {
        guard let object else { return describedClass.load() }
        return ClassMessages.of(object)._withUnsafeGuaranteedRef { $0.described }
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
