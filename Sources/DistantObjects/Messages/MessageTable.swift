import Synchronization

/// The messages that a class answers, by name.
public struct MessageTable<Target: AnyObject>: Sendable {
    let bodies: [MessageBody]

    /// A table from a list; of two messages with one name the later wins.
    public init(_ messages: [Message<Target>]) {
        bodies = messages.map(\.body)
    }

    /// Adds what a subclass answers to what its superclass does.
    public func extended(by messages: Message<Target>...) -> MessageTable<Target> {
        MessageTable(bodies: bodies + messages.map(\.body))
    }

    init(bodies: [MessageBody]) {
        self.bodies = bodies
    }
}
