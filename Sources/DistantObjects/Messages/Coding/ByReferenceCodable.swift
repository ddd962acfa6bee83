public import KeyedArchive

/// A type that is sent by reference: the object stays in its process, and the other process gets a proxy.
///
/// Conform classes to `Vendable` instead. This protocol is separate and has no class constraint because only then can the
/// initialiser in its extension assign an existing object to `self`.
public protocol _ByReferenceCodable: _ExternallyCodable {}

extension _ByReferenceCodable {
    /// Always throws: an object by reference needs a connection.
    ///
    /// The coders of this library do not call it.
    ///
    /// - Throws: `ConnectionError.notEncodable`, always.
    public func encode(to encoder: any Encoder) throws {
        throw ConnectionError(
            .notEncodable, "an object by reference can only be sent over a connection, not written into an archive",
            context: typeName(Self.self))
    }

    /// Always throws: an object by reference needs a connection.
    ///
    /// The coders of this library do not call it.
    ///
    /// - Throws: `ConnectionError.wrongArgument`, always.
    public init(from decoder: any Decoder) throws {
        throw ConnectionError(
            .wrongArgument, "an object by reference can only be received over a connection, not read from an archive",
            context: typeName(Self.self))
    }
}
