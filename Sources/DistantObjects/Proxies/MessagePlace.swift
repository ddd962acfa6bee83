import PortTransport
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
    private let kind: Kind

    /// What messages are sent to.
    private enum Kind {
        /// An object of the peer.
        case object
        /// An object of this process.
        case home(HomeObject)
        /// What it stands for if it was made before its object was known.
        case promise(PromisedObject)
        /// An object that is replaced from time to time.
        case following(any PlaceSource)
    }

    private var home: HomeObject? { if case .home(let object) = kind { object } else { nil } }
    /// What it stands for if it was made before its object was known.
    var promise: PromisedObject? { if case .promise(let promise) = kind { promise } else { nil } }
    /// What gives the object of each message, if it is replaced from time to time.
    var source: (any PlaceSource)? { if case .following(let source) = kind { source } else { nil } }

    init(_ id: ObjectID, of described: DescribedClass?, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        describedClass = Atomic(described.map { .passRetained($0) })
        kind = .object
    }

    /// The place of an object that is not known yet.
    ///
    /// - Parameter connection: The connection of the answer that it is; nil if it is none.
    init(_ promise: PromisedObject, on connection: Connection?) {
        self.connection = connection.map { Unmanaged.passRetained($0) }
        id = .none
        describedClass = Atomic(nil)
        kind = .promise(promise)
    }

    init(_ object: HomeObject) {
        connection = nil
        id = .rootDirectory
        describedClass = Atomic(nil)
        kind = .home(object)
    }

    /// The place of an object that is replaced from time to time.
    init(following source: any PlaceSource) {
        connection = nil
        id = .none
        describedClass = Atomic(nil)
        kind = .following(source)
    }

    /// Whether the object is replaced from time to time, so that each message asks for the one of now.
    @usableFromInline var follows: Bool { if case .following = kind { true } else { false } }

    /// How long a call to such an object may take that gives no time-out.
    @usableFromInline var followedTimeout: Duration? { source?.callTimeout }

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
        if let source { return source.current?.described }
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

    var missing: any Error {
        if case .failed(let error) = promise { return error }
        if let source {
            return ConnectionError(
                .notSent, "this kind of message cannot be sent through a remote that follows a helper",
                context: source.name)
        }
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

/// Gives a proxy's messages the object that they go to, where that object is replaced from time to time: the root of a helper that
/// is restarted, or of one of several helpers.
protocol PlaceSource: AnyObject, Sendable {
    /// Takes the object of the next message.
    ///
    /// - Parameter limit: How long to wait for an object; nil for no limit.
    /// - Throws: Why there is none; `CancellationError`.
    func take(within limit: Duration?) async throws -> TakenPlace

    /// Takes the object of the next message, if there is one.
    ///
    /// - Returns: Nil if a message would have to wait for an object, which is being made from now on.
    /// - Throws: Why there will be none.
    func takeNow() throws -> TakenPlace?

    /// Takes the object of the next message, on a plain thread, as the `async` function.
    func takeBlocking(within limit: Duration?) throws -> TakenPlace

    /// The object of now, if there is one.
    var current: MessagePlace? { get }

    /// How long a call may take that gives no time-out; nil for no limit.
    var callTimeout: Duration? { get }

    /// The loop whose clock measures time-outs.
    var loop: any PortLoop { get }

    /// What it stands for, in error messages.
    var name: String { get }
}

/// The object of one message, which counts as under way until it is given back.
struct TakenPlace: Sendable {
    let place: MessagePlace
    let count: MessageCount

    func giveBack() { count.subtract() }
}

/// The number of messages under way to one of several objects.
final class MessageCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
    func subtract() { count.subtract(1, ordering: .relaxed) }
}
