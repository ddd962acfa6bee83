public import KeyedArchive

/// A class whose objects other processes may call by reference, with the messages it lists and no others.
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
/// An argument or result of such a type is never copied: the other process gets a `DistantObject`. When that is sent back, it
/// becomes the original object again (`===`).
///
/// A class that is not final declares `class var messages`. A subclass overrides it with
/// ``MessageTable/extended(by:)-(MessageTable<Subclass>)``, and its objects answer the messages of both classes:
///
/// ```swift
/// class Document: Vendable, @unchecked Sendable {
///     class var messages: MessageTable<Document> {
///         Message("title", Document.title)
///         Message("pageCount", Document.pageCount)
///     }
///     func title() -> String { "document" }
///     func pageCount() -> Int { 1 }
/// }
///
/// final class Invoice: Document, @unchecked Sendable {
///     override class var messages: MessageTable<Document> {
///         super.messages.extended(by: Message("total", Invoice.total))
///     }
///     override func title() -> String { "invoice" }
///     func total() -> Int { 100 }
/// }
/// ```
public protocol Vendable: AnyObject, Sendable, _ByReferenceCodable {
    /// The type whose methods the table lists: this class, or the superclass that conforms.
    associatedtype MessageTarget: AnyObject = Self

    /// The messages that other processes may send. Read once for each class.
    @MessageTable<MessageTarget>.Builder
    nonisolated static var messages: MessageTable<MessageTarget> { get }

    /// What is sent instead of this object. Called each time the object is encoded for a connection.
    ///
    /// - Parameter coder: The coder of the message, which tells who gets it.
    /// - Returns: `nil` (the default) to send the object itself, by reference.
    /// - Throws: An error of its own if nothing can be sent.
    nonisolated func replacementObject(for coder: PortCoder) throws -> PortReplacement?
}

extension Vendable {
    /// Returns nil: the object itself is sent.
    ///
    /// - Throws: Nothing.
    public func replacementObject(for coder: PortCoder) throws -> PortReplacement? { nil }

    /// The object that is entered into the message's table of references, or the copy that is sent instead.
    ///
    /// - Throws: `ConnectionError.notEncodable` where there is no connection, `.interfaceMismatch` if the class does not list
    ///   all messages of the interface it ``Implements``.
    public func _external(for owner: AnyObject?) throws -> _ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(Self.self) }
        switch try replacementObject(for: port) {
        case .reference(let replacement): return .object(try port.vended(replacement))
        case .copy(let copy): return .copy(copy)
        case nil: return .object(try port.vended(self))
        }
    }
}

/// What `Vendable.replacementObject(for:)` sends instead of an object.
public enum PortReplacement {
    /// Another object, by reference.
    case reference(any Vendable)
    /// A copy: of the object itself, if its class is `ObjectCoding` too, or of another.
    ///
    /// The receiver declares the class of the copy.
    case copy(any ObjectCoding)
}

/// A class that is `Vendable` and `ObjectCoding` goes by reference. To send one argument or result by copy, wrap it in
/// `ByCopy`.
extension ObjectCoding where Self: Vendable {
    /// Always throws: an object by reference needs a connection.
    ///
    /// The coders of this library do not call it.
    ///
    /// - Throws: `ConnectionError.notEncodable`, always.
    public func encode(to encoder: any Encoder) throws {
        throw ConnectionError.needsConnection(Self.self)
    }

    /// Always throws: an object by reference needs a connection.
    ///
    /// The coders of this library do not call it.
    ///
    /// - Throws: `ConnectionError.notEncodable`, always.
    public init(from decoder: any Decoder) throws {
        throw ConnectionError.needsConnection(Self.self)
    }
}

extension ConnectionError {
    static func needsConnection(_ type: Any.Type) -> ConnectionError {
        ConnectionError(
            .notEncodable, "an object by reference can only be sent over a connection, not written into an archive",
            context: typeName(type))
    }
}
