public import KeyedArchive

/// An object that other processes may call: by reference, and only the messages it lists.
///
/// ```swift
/// final class Directory: Vendable {
///     static var messages: MessageTable<Directory> {
///         Message("add", Directory.add)
///         Message("watch", Directory.watch)
///     }
/// }
/// ```
///
/// An argument or result of such a type is never copied: the other process gets a `DistantObject`. Sent back home, that
/// becomes the original object again (`===`).
public protocol Vendable: AnyObject, Sendable, ByReferenceCodable {
    /// The type whose methods the table lists: this class, or the superclass that conforms.
    associatedtype MessageTarget: AnyObject = Self

    /// The messages that other processes may send, and nothing else. Read once for each class.
    @MessageTableBuilder<MessageTarget>
    static var messages: MessageTable<MessageTarget> { get }

    /// What is sent in the place of this object, asked each time it is encoded for a connection.
    ///
    /// - Returns: `nil` (the default) to send the object itself, by reference.
    func replacementObject(for coder: PortCoder) throws -> PortReplacement?
}

extension Vendable {
    /// The object itself is sent.
    public func replacementObject(for coder: PortCoder) throws -> PortReplacement? { nil }

    /// What is entered into the message's table of references, or the copy that goes instead.
    ///
    /// - Throws: `ConnectionError.notEncodable` where there is no connection.
    public func external(for owner: AnyObject?) throws -> ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(Self.self) }
        switch try replacementObject(for: port) {
        case .reference(let replacement): return .object(port.vended(replacement))
        case .copy(let copy): return .copy(copy)
        case nil: return .object(port.vended(self))
        }
    }
}

/// What `Vendable.replacementObject(for:)` sends in the place of an object.
public enum PortReplacement {
    /// Another object, by reference.
    case reference(any Vendable)
    /// A copy: of the object itself, if its class is `ObjectCoding` too, or of another.
    ///
    /// The receiver declares the class of the copy.
    case copy(any ObjectCoding)
}

/// A class that is both has an identity in one place: it goes by reference.
///
/// To send a copy at one place, wrap it there in `ByCopy`.
extension ObjectCoding where Self: Vendable {
    /// Says that an object by reference needs a connection: this library's coders never come here.
    public func encode(to encoder: any Encoder) throws {
        throw ConnectionError.needsConnection(Self.self)
    }

    /// Says that an object by reference needs a connection: this library's coders never come here.
    public init(from decoder: any Decoder) throws {
        throw ConnectionError.needsConnection(Self.self)
    }
}

extension ConnectionError {
    static func needsConnection(_ type: Any.Type) -> ConnectionError {
        ConnectionError(
            .notEncodable, "an object by reference can only be sent over a connection, not written into an archive",
            context: String(describing: type))
    }
}
