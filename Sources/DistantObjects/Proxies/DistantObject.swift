public import KeyedArchive

/// A proxy: it stands for an object of another process and sends it messages.
///
/// ```swift
/// let count: Int = try await directory.add(foo)
/// ```
///
/// The message is looked up by name in the table of the object's class. Arguments are matched by position, without labels.
///
/// A connection has at most one proxy for an object at a time. When the proxy is freed, the process that owns the object is
/// notified, and may free the object.
///
/// A proxy may also stand for an object of this process, for example one that was sent back as an argument declared as
/// `DistantObject`. Messages to it go over a connection within this process, which is opened for the first one, so they are
/// sent as between processes. `local(as:)` returns the object itself.
@dynamicMemberLookup
public final class DistantObject: _ByReferenceCodable, Sendable {
    @usableFromInline let place: MessagePlace

    init(_ id: ObjectID, of described: DescribedClass? = nil, on connection: Connection) {
        place = MessagePlace(id, of: described, on: connection)
    }

    /// Makes a proxy for an object that is not known yet.
    ///
    /// - Parameters:
    ///   - promise: The promise that will become the object.
    ///   - connection: The connection on which the object is the answer to a call; nil if there is none.
    init(promised promise: PromisedObject, on connection: Connection? = nil) {
        place = MessagePlace(promise, on: connection)
    }

    /// Makes a proxy for an object of this process, for code that takes local and remote objects alike.
    ///
    /// Messages to it are sent as between processes, with the defaults of `Connection.Configuration`.
    public init(standingFor object: any Vendable) {
        place = MessagePlace(HomeObject(object))
    }

    /// Makes a proxy for an object of this process that has come home, which is called with the settings of its way.
    init(standingFor object: any Vendable, from coder: PortCoder?) {
        place = MessagePlace(HomeObject(object, from: coder))
    }

    /// Makes a proxy for an object that is replaced from time to time.
    init(following source: any PlaceSource) { place = MessagePlace(following: source) }

    /// The message of that name, ready to call: `directory.add(foo)`.
    public subscript(dynamicMember name: String) -> RemoteMessage {
        RemoteMessage(place: place.route, name: name)
    }

    /// The message of that name, for a name that is no Swift identifier or is a member of this class.
    public func message(_ name: String) -> RemoteMessage {
        RemoteMessage(place: place.route, name: name)
    }

    /// The object itself, if it lives in this process and has that type; else nil.
    public func local<Object>(as type: Object.Type = Object.self) -> Object? {
        place.object as? Object
    }

    /// The connection that messages go over; nil if the object lives in this process, and for the remote of a helper that does not
    /// run now.
    public var connection: Connection? { (place.source?.current ?? place).heldConnection }

    /// The object that is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.foreignReference` if the proxy belongs to another connection; the error of a promise that
    ///   could not be sent.
    @_documentation(visibility: internal)
    public func _external(for owner: AnyObject?) throws -> _ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(DistantObject.self) }
        if case .failed(let error) = place.promise { throw error }
        if let source = place.source {
            throw ConnectionError(
                .foreignReference, "the remote of a helper cannot be sent; vend an object of your own that calls it",
                context: source.name)
        }
        if let connection, connection.coder === port { return .object(self) }
        guard let object = place.object else {
            throw ConnectionError(
                .foreignReference,
                "this reference came over another connection; call it from here, or vend an object of your own that does",
                context: "DistantObject")
        }
        return .object(try port.vended(object))
    }
}

extension DistantObject: Equatable {
    /// Whether both stand for the same object, on the same connection.
    ///
    /// A promise is equal only to itself, whatever it becomes.
    public static func == (left: DistantObject, right: DistantObject) -> Bool {
        guard left.place.promise == nil, right.place.promise == nil else { return left.place === right.place }
        guard left.place.source == nil, right.place.source == nil else {
            return left.place.source === right.place.source
        }
        return left.connection === right.connection && left.place.id == right.place.id
            && left.place.object === right.place.object
    }
}

extension DistantObject: Hashable {
    /// Hashes the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        if place.promise != nil { return hasher.combine(ObjectIdentifier(place)) }
        if let source = place.source { return hasher.combine(ObjectIdentifier(source)) }
        if let object = place.object { return hasher.combine(ObjectIdentifier(object)) }
        if let connection { hasher.combine(ObjectIdentifier(connection)) }
        hasher.combine(place.id)
    }
}

extension DistantObject: CustomStringConvertible {
    /// Tells where the object lives.
    ///
    /// Sends no message.
    public var description: String {
        if let object = place.object { return "DistantObject(local \(type(of: object)))" }
        if let source = place.source { return "DistantObject(\(source.name))" }
        if place.promise != nil { return "DistantObject(promise\(connection.map { " on \($0.name)" } ?? ""))" }
        return "DistantObject(\(place.id.slot).\(place.id.generation) on \(connection?.name ?? ""))"
    }
}

extension _ByReferenceCodable {
    /// The object itself in its own process, a proxy in another.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if the object lives in the other process or has another type.
    @_documentation(visibility: internal)
    public static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
        let object = (object as? DistantObject)?.place.object ?? object
        if let exact = object as? Self { return exact }
        if Self.self == DistantObject.self, let local = object as? any Vendable,
            let proxy = DistantObject(standingFor: local, from: owner as? PortCoder) as? Self
        {
            return proxy
        }
        throw ConnectionError(
            .wrongArgument,
            object is DistantObject
                ? "the object lives in the other process: take a DistantObject instead of a \(Self.self)"
                : "expected a \(Self.self), found a \(type(of: object))",
            context: typeName(Self.self)
        )
    }
}
