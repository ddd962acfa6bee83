import Synchronization

/// The messages of a class, which other processes may send to its objects.
public struct MessageTable<Target: AnyObject>: Sendable {
    let bodies: [MessageBody]

    /// Makes a table of a list.
    ///
    /// If two messages have the same name, the later one counts.
    public init(_ messages: [Message<Target>]) {
        bodies = messages.map { $0.body }
    }

    /// Makes a table of the messages that a closure lists, one a line.
    public init(@Builder _ messages: () -> MessageTable<Target>) {
        self = messages()
    }

    /// Makes a table of these messages and further ones of a subclass.
    ///
    /// A subclass overrides `messages` with it, and lists its own methods as they are:
    ///
    /// ```swift
    /// override class var messages: MessageTable<Document> {
    ///     super.messages.extended(by: Message("total", Invoice.total))
    /// }
    /// ```
    ///
    /// Of several messages it can be a table, too: `extended(by: MessageTable<Invoice> { ... })`.
    ///
    /// A message with the name of an earlier one replaces it. The messages may be of the table's own class, too.
    ///
    /// - Precondition: The class whose `messages` returns the table is `Subclass` or inherits from it. This is checked when
    ///   an object of the class is first sent.
    public func extended<Subclass: AnyObject>(by messages: Message<Subclass>...) -> MessageTable<Target> {
        MessageTable(bodies: bodies + messages.map { $0.body })
    }

    /// Makes a table of these messages and those of a table for a subclass.
    ///
    /// - Precondition: The class whose `messages` returns the table is `Subclass` or inherits from it.
    public func extended<Subclass: AnyObject>(by table: MessageTable<Subclass>) -> MessageTable<Target> {
        MessageTable(bodies: bodies + table.bodies)
    }

    init(bodies: [MessageBody]) {
        self.bodies = bodies
    }
}
