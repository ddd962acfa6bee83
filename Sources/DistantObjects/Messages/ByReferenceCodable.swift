public import KeyedArchive

/// What goes by reference: the object stays where it lives, the other process gets a proxy.
///
/// Users conform classes to `Vendable` instead. This protocol is apart from it, and not bound to classes, because only
/// there may an extension's initialiser put an existing object in the place of `self`.
public protocol ByReferenceCodable: ExternallyCodable {}

extension ByReferenceCodable {
    /// Says that an object by reference needs a connection: this library's coders never come here.
    public func encode(to encoder: any Encoder) throws {
        throw ConnectionError(
            .notEncodable, "an object by reference can only be sent over a connection, not written into an archive",
            context: String(describing: Self.self))
    }

    /// Says that an object by reference needs a connection: this library's coders never come here.
    public init(from decoder: any Decoder) throws {
        throw ConnectionError(
            .wrongArgument, "an object by reference can only be received over a connection, not read from an archive",
            context: String(describing: Self.self))
    }

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
