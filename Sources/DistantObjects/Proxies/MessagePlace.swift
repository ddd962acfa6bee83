import Synchronization

/// The destination of a proxy's messages: an object of the peer, one of this process, or a result that is not known yet.
///
/// It is separate from the proxy because each call retains it. The import table holds the proxy weakly, and retaining an
/// object that has weak references costs several times as much.
@usableFromInline
final class MessagePlace: Sendable {
    /// The connection; `nil` for an object of this process, and for a promise that could not be made.
    ///
    /// Retained by hand, so that calls do not retain it again: a call keeps this place alive while it uses the connection.
    let connection: Unmanaged<Connection>?
    /// The id of an object of the peer.
    let id: ObjectID
    /// The object's class, if the peer has described it.
    ///
    /// It may come after the object itself, with a later message.
    ///
    /// Retained by hand. `AtomicLazyReference` costs several hundred instructions for each new proxy.
    private let describedClass: Atomic<Unmanaged<DescribedClass>?>
    /// The object, if it is one of this process.
    private let home: HomeObject?
    /// What it stands for if it was made before its object was known.
    let promise: PromisedObject?

    init(_ id: ObjectID, of described: DescribedClass?, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        describedClass = Atomic(described.map { .passRetained($0) })
        home = nil
        promise = nil
    }

    /// The place of an object that is not known yet.
    ///
    /// - Parameter connection: The connection of the answer that it is; nil if it is none.
    init(_ promise: PromisedObject, on connection: Connection?) {
        self.connection = connection.map { Unmanaged.passRetained($0) }
        id = .none
        describedClass = Atomic(nil)
        home = nil
        self.promise = promise
    }

    init(_ object: HomeObject) {
        connection = nil
        id = .rootDirectory
        describedClass = Atomic(nil)
        home = object
        promise = nil
    }

    /// The object, if it is one of this process.
    ///
    /// It is also known for a proxy over a connection from this process to its own objects.
    var object: (any Vendable)? {
        if let home { return home.object }
        return connection?._withUnsafeGuaranteedRef { $0.homeObject(id) }
    }

    /// Where messages are sent: this place, or for an object of this process one on a connection to it.
    @usableFromInline var route: MessagePlace { home?.place ?? self }

    /// Notes the object's class, unless it is known.
    func describe(as described: DescribedClass) {
        guard describedClass.load(ordering: .relaxed) == nil else { return }
        let retained = Unmanaged.passRetained(described)
        let (isFirst, _) = describedClass.compareExchange(
            expected: nil, desired: retained, ordering: .acquiringAndReleasing)
        if !isFirst { retained.release() }
    }

    /// The class of the object, if it is known.
    var described: DescribedClass? {
        guard let home else { return describedClass.load(ordering: .acquiring)?.takeUnretainedValue() }
        return ClassMessages.of(home.object)._withUnsafeGuaranteedRef { $0.described }
    }

    deinit {
        describedClass.load(ordering: .acquiring)?.release()
        switch promise {
        case nil: connection?.takeRetainedValue().died(.object(id))
        case .answer(let ticket): connection?.takeRetainedValue().died(.answer(ticket))
        case .failed: break
        }
    }

    var heldConnection: Connection? {
        withExtendedLifetime(self) { connection?.takeUnretainedValue() }
    }

    /// The connection that messages are sent over, to be used while this place is held.
    ///
    /// - Throws: Why there is none.
    @inline(__always)
    func sending() throws -> Unmanaged<Connection> {
        guard let connection else { throw missing }
        return connection
    }

    private var missing: any Error {
        if case .failed(let error) = promise { return error }
        return ConnectionError(.closed, "no message can be sent to the object")
    }

    /// An empty message to the object.
    ///
    /// - Throws: Why no message can be sent.
    @inline(__always)
    func takeMessage() throws -> OutboundMessage {
        let message = try sending()._withUnsafeGuaranteedRef { $0.coder.takeMessage() }
        message.target = id
        if case .answer(let ticket) = promise { message.send(to: ticket, through: self) }
        return message
    }
}

/// An object of this process for which a proxy stands, and the way of messages to it.
final class HomeObject: Sendable {
    let object: any Vendable
    /// The coder of the connection that the object has come home over, if it has.
    private let coder: PortCoder?
    /// Where messages are sent, made for the first one.
    ///
    /// Not the proxy: the import table holds that weakly, so that each message would cost four times as much to name.
    private let made = AtomicLazyReference<MessagePlace>()

    init(_ object: any Vendable, from coder: PortCoder? = nil) {
        self.object = object
        self.coder = coder
    }

    var place: MessagePlace { made.load() ?? made.storeIfNil(open()) }

    private func open() -> MessagePlace {
        var configuration = Connection.Configuration()
        if let coder { configuration.adopt(coder.settings, coder.connection) }
        return Connection.proxy(for: object, .home, configuration).place
    }
}
