/// A proxy: stands for an object of another process, and sends it messages.
///
/// ```swift
/// let count: Int = try await directory.add(foo)
/// ```
///
/// The message is looked up by name in the table of the object's class; arguments go by position, without labels. There is
/// one proxy for an object on a connection while any is alive. When the last one is gone the object's owner is told, and may
/// free it. A proxy may also stand for an object of this process (one that came home where a `DistantObject` was asked
/// for): messages to it run here, with copies made as between processes, and `local(as:)` gives the object.
@dynamicMemberLookup
public final class DistantObject: ByReferenceCodable, Sendable {
    enum Place: Sendable {
        case remote(RemoteReference)
        case local(any Vendable)

        /// A message to the object, to be filled.
        func takeMessage() -> OutboundMessage {
            switch self {
            case .remote(let reference): reference.takeMessage()
            case .local: OutboundMessage(for: PortCoder.local)
            }
        }
    }

    let place: Place

    init(_ id: ObjectID, on connection: Connection) {
        place = .remote(RemoteReference(connection, id))
    }

    /// A proxy for an object of this process, for code that takes either kind.
    public init(standingFor object: any Vendable) {
        place = .local(object)
    }

    /// A message of that name, to be called: `directory.add(foo)`.
    public subscript(dynamicMember name: String) -> RemoteMessage {
        RemoteMessage(place: place, name: name)
    }

    /// A message whose name is not a Swift identifier, or is one of this class's own members.
    public func message(_ name: String) -> RemoteMessage {
        RemoteMessage(place: place, name: name)
    }

    /// The original object, if it lives in this process and has that type.
    public func local<Object>(as type: Object.Type = Object.self) -> Object? {
        guard case .local(let object) = place else { return nil }
        return object as? Object
    }

    /// The connection the object is reached through; `nil` for one of this process.
    public var connection: Connection? {
        guard case .remote(let reference) = place else { return nil }
        return reference.connection
    }

    /// What is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.foreignReference` if the proxy belongs to another connection.
    public func external(for owner: AnyObject?) throws -> ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(DistantObject.self) }
        switch place {
        case .local(let object):
            return .object(port.vended(object))
        case .remote(let reference):
            guard reference.connection.coder === port else {
                throw ConnectionError(
                    .foreignReference,
                    "this reference came over another connection; call it from here, or vend an object of your own that does",
                    context: "DistantObject")
            }
            return .object(self)
        }
    }
}

extension DistantObject: Equatable {
    /// Whether both stand for the same object, as far as one connection can tell.
    public static func == (left: DistantObject, right: DistantObject) -> Bool {
        switch (left.place, right.place) {
        case (.remote(let a), .remote(let b)): a.connection === b.connection && a.id == b.id
        case (.local(let a), .local(let b)): a === b
        default: false
        }
    }
}

extension DistantObject: CustomStringConvertible {
    /// Where the object lives; not a message to it.
    public var description: String {
        switch place {
        case .remote(let reference):
            "DistantObject(\(reference.id.slot).\(reference.id.generation) on \(reference.connection.name))"
        case .local(let object):
            "DistantObject(local \(type(of: object)))"
        }
    }
}

/// Where a proxy's messages go.
///
/// Apart from the proxy, because tables find that by a weak reference: to count references to an object that has one costs
/// several times as much, and calls count those to this one.
final class RemoteReference: Sendable {
    let connection: Connection
    let id: ObjectID

    init(_ connection: Connection, _ id: ObjectID) {
        self.connection = connection
        self.id = id
    }

    deinit { connection.referenceDied(id) }

    /// A message to the object, to be filled.
    func takeMessage() -> OutboundMessage {
        let message = connection.coder.takeMessage()
        message.target = id
        return message
    }
}
