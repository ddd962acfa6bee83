import Synchronization

/// The destination of a proxy's messages: an object of the peer, one of this process, or a result that is not known yet.
///
/// It is separate from the proxy because each call retains it. The import table holds the proxy weakly, and retaining an
/// object that has weak references costs several times as much.
@usableFromInline
final class MessagePlace: Sendable {
    /// The connection; `nil` for an object of this process.
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
    let object: (any Vendable)?
    /// What it stands for if it was made before its object was known.
    let promise: PromisedObject?

    init(_ id: ObjectID, of described: DescribedClass?, on connection: Connection) {
        self.connection = Unmanaged.passRetained(connection)
        self.id = id
        describedClass = Atomic(described.map { .passRetained($0) })
        object = nil
        promise = nil
    }

    /// The place of an object that is not known yet.
    ///
    /// - Parameter connection: The connection of the answer that it is; nil if it is none.
    init(_ promise: PromisedObject, on connection: Connection?) {
        self.connection = connection.map { Unmanaged.passRetained($0) }
        id = .none
        describedClass = Atomic(nil)
        object = nil
        self.promise = promise
    }

    init(_ object: any Vendable) {
        connection = nil
        id = .rootDirectory
        describedClass = Atomic(nil)
        self.object = object
        promise = nil
    }

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
        guard let object else { return describedClass.load(ordering: .acquiring)?.takeUnretainedValue() }
        return ClassMessages.of(object)._withUnsafeGuaranteedRef { $0.described }
    }

    deinit {
        describedClass.load(ordering: .acquiring)?.release()
        switch promise {
        case nil: connection?.takeRetainedValue().died(.object(id))
        case .answer(let ticket): connection?.takeRetainedValue().died(.answer(ticket))
        case .local(let task): task.cancel()
        case .failed: break
        }
    }

    var heldConnection: Connection? {
        withExtendedLifetime(self) { connection?.takeUnretainedValue() }
    }

    /// An empty message to the object.
    @inline(__always)
    func takeMessage() -> OutboundMessage {
        guard let connection else { return OutboundMessage(PortCoder.local.settings, owner: PortCoder.local) }
        let message = connection._withUnsafeGuaranteedRef { $0.coder.takeMessage() }
        message.target = id
        if case .answer(let ticket) = promise { message.send(to: ticket, through: self) }
        return message
    }

    /// The object of this process that messages go to, once it is known.
    ///
    /// - Throws: Why there is none.
    func localObject() async throws -> any Vendable {
        if let object { return object }
        switch promise {
        case .local(let task): return try await task.value
        case .failed(let error): throw error
        case .answer, nil: throw ConnectionError(.foreignReference, "not an object of this process")
        }
    }

    /// Why a message cannot be sent to an object of this process by a function that does not wait in a task.
    func cannotBlock(_ message: String) -> any Error {
        if case .failed(let error) = promise { return error }
        return ConnectionError(
            .wouldBlock, "the object lives in this process: take it with local(as:) and call it directly",
            context: message)
    }
}
