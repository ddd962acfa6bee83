/// What objects of another process can be asked: a structure of signatures, in a module that both sides use.
///
/// ```swift
/// public struct DirectoryInterface: Interface {
///     public init() {}
///     public let add = Signature<Int, Person>("add")          // the result, then the arguments
///     public let find = Signature<Remote<PersonInterface>?, String>("find")
///     public let clear = Signature<Void>("clear", since: 2)
/// }
/// ```
///
/// A ``Remote`` of an interface has its signatures as messages, checked by the compiler; a class says with ``Implements`` that
/// it answers them. Signatures are stored properties: one instance is made in a process.
public protocol Interface: Sendable {
    /// The signatures.
    init()
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
/// A `Remote<AdminInterface>` has the messages of the base and, if that is `Extending`, too, those of two more levels. It
/// becomes a `Remote<DirectoryInterface>` with `Remote(admin)`.
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
/// The compiler checks each line of the table against its signature. Whether a line is missing is found when an object is
/// first vended or sent.
public protocol Implements {
    /// The interface.
    associatedtype I: Interface
}
