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
    let place: MessagePlace

    init(_ id: ObjectID, on connection: Connection) {
        place = MessagePlace(id, on: connection)
    }

    /// A proxy for an object of this process, for code that takes either kind.
    public init(standingFor object: any Vendable) {
        place = MessagePlace(object)
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
        place.object as? Object
    }

    /// The connection the object is reached through; `nil` for one of this process.
    public var connection: Connection? { place.heldConnection }

    /// What is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.foreignReference` if the proxy belongs to another connection.
    public func external(for owner: AnyObject?) throws -> ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(DistantObject.self) }
        if let object = place.object { return .object(port.vended(object)) }
        guard let connection, connection.coder === port else {
            throw ConnectionError(
                .foreignReference,
                "this reference came over another connection; call it from here, or vend an object of your own that does",
                context: "DistantObject")
        }
        return .object(self)
    }
}

extension DistantObject: Equatable {
    /// Whether both stand for the same object, as far as one connection can tell.
    public static func == (left: DistantObject, right: DistantObject) -> Bool {
        left.connection === right.connection && left.place.id == right.place.id
            && left.place.object === right.place.object
    }
}

extension DistantObject: Hashable {
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        if let object = place.object { return hasher.combine(ObjectIdentifier(object)) }
        if let connection { hasher.combine(ObjectIdentifier(connection)) }
        hasher.combine(place.id)
    }
}

extension DistantObject: CustomStringConvertible {
    /// Where the object lives; not a message to it.
    public var description: String {
        if let object = place.object { return "DistantObject(local \(type(of: object)))" }
        return "DistantObject(\(place.id.slot).\(place.id.generation) on \(connection?.name ?? ""))"
    }
}

extension ByReferenceCodable {
    /// The object itself where it is at home, a proxy where it is not.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if the object lives in the other process or has another type.
    public static func value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
        if let exact = object as? Self { return exact }
        if Self.self == DistantObject.self, let local = object as? any Vendable,
            let proxy = DistantObject(standingFor: local) as? Self
        {
            return proxy
        }
        throw ConnectionError(
            .wrongArgument,
            object is DistantObject
                ? "the object lives in the other process: take a DistantObject instead of a \(Self.self)"
                : "expected a \(Self.self), found a \(type(of: object))",
            context: String(describing: Self.self)
        )
    }
}
