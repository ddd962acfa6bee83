/// What objects of another process can be asked: a structure of signatures, in a module that both sides use.
///
/// ```swift
/// public struct DirectoryInterface: Interface {
///     public init() {}
///     public let add = Signature<Int, Person>("add")          // the result, then the arguments
///     public let find = Signature<Remote<PersonInterface>?, String>("find")
///     public let clear = Signature<Void>("clear", since: 2)
///     public static var errors: [any (Error & Codable).Type] { [DirectoryError.self] }
/// }
/// ```
///
/// A ``Remote`` of an interface has its signatures as messages, checked by the compiler; a class says with ``Implements`` that
/// it answers them. Signatures are stored properties: one instance is made in a process.
public protocol Interface: Sendable {
    /// The signatures.
    nonisolated init()

    /// Errors of the methods, which callers get as they were thrown; by default none.
    ///
    /// They need not be in `Connection.Configuration.errorTypes`. Those of the interfaces that are extended belong to them. A call
    /// looks for an error's name in its own interface, then in the configuration, then in other interfaces that were called over
    /// the connection, or whose objects were sent over it. A stream has no interface of its own: if it fails with an error whose name two of them list with different
    /// types, a `RemoteError` says so.
    nonisolated static var errors: [any (Error & Codable).Type] { get }
}

extension Interface {
    /// Returns no types.
    public static var errors: [any (Error & Codable).Type] { [] }
}

/// An interface that has all signatures of another one, and more.
///
/// ```swift
/// public struct AdminInterface: Extending {
///     public typealias Base = DirectoryInterface
///     public init() {}
///     public let stop = Signature<Void>("stop")
/// }
/// ```
///
/// A `Remote<AdminInterface>` has the messages of up to three levels below it as well. It becomes a
/// `Remote<DirectoryInterface>` with `Remote<DirectoryInterface>(admin)`.
///
/// An interface that extends itself, directly or through others, is refused with `ConnectionError.interfaceMismatch`.
public protocol Extending: Interface {
    /// The interface that is extended.
    associatedtype Base: Interface
}

/// A class whose objects answer the messages of an interface.
///
/// ```swift
/// final class Directory: Vendable, Implements {
///     typealias I = DirectoryInterface
///     static var messages: MessageTable<Directory> {
///         Message(\I.add, Directory.add)
///         Message(\I.find, Directory.find)
///     }
/// }
/// ```
///
/// The compiler checks each line of the table against its signature. A missing line is found when an object is first vended
/// by `vend(_:as:)` or sent; where objects are vended by names, the peer's look-up fails.
///
/// A class implements one interface, which may extend others. A subclass implements that of its superclass.
public protocol Implements {
    /// The interface.
    associatedtype I: Interface
}
