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

/// Makes a `MessageTable` of the messages written one below the other.
@resultBuilder
public enum MessageTableBuilder<Target: AnyObject> {
    /// One message.
    public static func buildExpression(_ message: Message<Target>) -> [Message<Target>] { [message] }
    /// All of them in order.
    public static func buildBlock(_ messages: [Message<Target>]...) -> [Message<Target>] { messages.flatMap { $0 } }
    /// Messages under a condition.
    public static func buildOptional(_ messages: [Message<Target>]?) -> [Message<Target>] { messages ?? [] }
    /// The first of two alternatives.
    public static func buildEither(first messages: [Message<Target>]) -> [Message<Target>] { messages }
    /// The second of two alternatives.
    public static func buildEither(second messages: [Message<Target>]) -> [Message<Target>] { messages }
    /// The table.
    public static func buildFinalResult(_ messages: [Message<Target>]) -> MessageTable<Target> {
        MessageTable(messages)
    }
    /// A table made elsewhere.
    public static func buildFinalResult(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
    /// A table made elsewhere.
    public static func buildBlock(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
    /// A table made elsewhere.
    public static func buildExpression(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
}

/// The table of one class as the connections use it, made once for each class in a process.
///
/// It lives as long as the process, so nobody counts references to it.
final class ClassMessages: Sendable {
    let className: String
    private let byName: [String: MessageBody]

    private init(className: String, bodies: [MessageBody]) {
        self.className = className
        byName = Dictionary(bodies.map { ($0.name, $0) }, uniquingKeysWith: { _, later in later })
    }

    /// The message of that name, or one that stands for a name the class does not list.
    func meaning(of name: String) -> MessageBody { byName[name] ?? MessageBody(unlisted: name, of: className) }

    /// The table of an object that went through `of(_:)` before; user code never runs here.
    static func known(_ object: AnyObject) -> Unmanaged<ClassMessages> {
        known(ObjectIdentifier(type(of: object))) ?? Unmanaged.passUnretained(none)
    }

    /// Nearly always the class is the one this thread met last; tables live for ever.
    private static func known(_ type: ObjectIdentifier) -> Unmanaged<ClassMessages>? {
        let thread = ThreadState.current
        if let last = thread?.pointee.lastClass, last.type == type { return last.messages }
        guard let messages = all.withLock({ $0[type] }).map(Unmanaged.passUnretained) else { return nil }
        thread?.pointee.lastClass = (type, messages)
        return messages
    }

    private static let none = ClassMessages(className: "an object without messages", bodies: [])
    private static let all = Mutex<[ObjectIdentifier: ClassMessages]>([:])

    /// The table of the object's own class, which may be a subclass of the one that conforms.
    @discardableResult
    static func of(_ object: some Vendable) -> Unmanaged<ClassMessages> {
        let type = type(of: object)
        let key = ObjectIdentifier(type)
        if let known = known(key) { return known }
        // User code runs here, so not under the lock; two threads may both make the table, and one is kept.
        let made = ClassMessages(className: String(describing: type), bodies: type.messages.bodies)
        return all.withLock { tables in
            if let known = tables[key] { return Unmanaged.passUnretained(known) }
            tables[key] = made
            return Unmanaged.passUnretained(made)
        }
    }
}
