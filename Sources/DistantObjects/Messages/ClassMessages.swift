import Synchronization

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

    /// Usually it is the class that this thread used last.
    ///
    /// Tables are never freed.
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
