public import KeyedArchive

/// A proxy whose messages the compiler checks: an object of another process, used by an ``Interface``.
///
/// ```swift
/// let directory = try await connection.root(as: DirectoryInterface.self)
/// let count = try await directory.add(person)                        // Int
/// try await directory.add.oneWay(person)
/// ```
///
/// A property of the interface is a message of the remote: ``RemoteMethod`` says how to send it. Where the remote has a
/// member of the same name, as `object`, write `remote[\.object]`.
///
/// Whether the object answers what the interface asks is checked when a `Remote` is looked up, received in a message or made
/// of a ``DistantObject``, without asking the peer. If the object's class is not described, as by programs of an older
/// version, a missing message is noticed when it is sent.
///
/// `Remote` is a `Codable` value: as an argument, result or part of either it goes by reference.
@dynamicMemberLookup
public struct Remote<I: Interface>: _ByReferenceCodable, _InterfaceReference, Sendable {
    /// The same object without its interface.
    public let object: DistantObject
    @usableFromInline let shape: InterfaceShape<I>

    @usableFromInline
    init(_ object: DistantObject, _ shape: InterfaceShape<I>) {
        self.object = object
        self.shape = shape
    }

    /// Uses an object by the interface.
    ///
    /// - Throws: `ConnectionError.interfaceMismatch` if it does not answer what the interface asks; the error lists what.
    public init(_ object: DistantObject) throws {
        let shape = InterfaceShape.of(I.self)
        let described = object.place.described
        let problems = described?.problems(with: shape) ?? shape.faults
        if !problems.isEmpty { throw shape.mismatch(problems, (try? described?.description.name) ?? "the object") }
        self.init(object, shape)
    }

    /// An object of this process to be sent by reference.
    ///
    /// Sending it throws `ConnectionError.interfaceMismatch` if its class does not list what the interface asks.
    public init<Object: Vendable & Implements>(vending object: Object) where Object.I == I {
        self.init(DistantObject(standingFor: object), InterfaceShape.of(I.self))
    }

    /// An object of this process in the place of a remote one, as for a test.
    ///
    /// It is opened with a connection within this process, so that calls, errors, streams and references are those of an object of
    /// another process: see <doc:CheckedCalls>. The connection closes when nothing uses it any more.
    ///
    /// A thread that blocks in a call must not be the one that the object needs: a blocking call of the main thread to an object
    /// of the main actor waits for itself until its deadline.
    ///
    /// If the class does not list what the interface asks, each message throws `ConnectionError.interfaceMismatch`.
    ///
    /// - Parameters:
    ///   - object: Kept alive until the last remote for it is gone.
    ///   - configuration: The configuration of both ends, with the caller's `errorTypes`. Events are those of the caller's end.
    public init<Object: Vendable & Implements>(
        local object: Object, configuration: Connection.Configuration = .init()
    ) where Object.I == I {
        self.init(Connection.proxy(for: object, .standIn, configuration), InterfaceShape.of(I.self))
    }

    /// The original object, if it lives in this process and has that type.
    public func local<Object>(as type: Object.Type = Object.self) -> Object? { object.local(as: type) }

    /// The object that a promise has become, once it is known; the remote itself if it is no promise.
    ///
    /// - Throws: As `DistantObject.resolved()`; `ConnectionError.interfaceMismatch` if the object does not answer what the
    ///   interface asks.
    public func resolved() async throws -> Remote { try Remote(await object.resolved()) }

    /// The object that a promise has become, as `resolved()`, for plain threads: blocks until it is known.
    ///
    /// - Throws: As `resolved()`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public func blockingResolved() throws -> Remote { try Remote(object.blockingResolved()) }

    /// A message of the interface: `remote.add(person)`.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        dynamicMember path: KeyPath<I, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.record(path))
    }

    /// A message that has the name of a member of `Remote`: `remote[\.object](person)`.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        path: KeyPath<I, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.record(path))
    }
}

extension Remote {
    /// Has a handler called once when the process that owns the object is gone; see ``DistantObject/onEnd(_:)``.
    ///
    /// - Parameter handler: Kept until it is called, or until the registration is cancelled.
    /// - Returns: The registration, for `cancel()`. Letting it go cancels nothing.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable (ConnectionEnd) -> Void) -> EndRegistration {
        object.onEnd(handler)
    }
}

extension Remote {
    /// What is entered into the message's table of references.
    ///
    /// - Throws: As `DistantObject._external(for:)`.
    public func _external(for owner: AnyObject?) throws -> _ExternalValue { try object._external(for: owner) }

    /// The object that a message names, used by the interface.
    ///
    /// - Throws: `ConnectionError.interfaceMismatch` if it does not answer what the interface asks.
    public static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Remote {
        try Remote(DistantObject._value(ofExternal: object, owner: owner))
    }
}

extension Remote: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription(.reference, typeName(I.self)) }
}

extension Remote: Hashable {
    /// Whether both stand for the same object, as far as one connection can tell.
    public static func == (left: Remote, right: Remote) -> Bool { left.object == right.object }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(object) }
}

extension Remote: CustomStringConvertible {
    /// The interface, and where the object lives; not a message to it.
    public var description: String { "Remote<\(I.self)>(\(object))" }
}
