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
}
