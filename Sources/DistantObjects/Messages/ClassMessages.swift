import Synchronization

/// The message table of one class in the form that connections use.
///
/// Made once for each class in a process.
///
/// It is never freed, so uses of it count no references.
final class ClassMessages: Sendable {
    let className: String
    private let byName: [String: MessageBody]

    private init(className: String, bodies: [MessageBody]) {
        self.className = className
        byName = Dictionary(bodies.map { ($0.name, $0) }, uniquingKeysWith: { _, later in later })
    }

    /// The message with that name, or an unlisted one that stands for a name the class does not list.
    func message(named name: String) -> MessageBody { byName[name] ?? MessageBody(unlisted: name, of: className) }

    /// The table of an object whose class has gone through `of(_:)`.
    ///
    /// Runs no user code.
    static func known(_ object: AnyObject) -> Unmanaged<ClassMessages> {
        known(ObjectIdentifier(type(of: object))) ?? Unmanaged.passUnretained(none)
    }

    /// Looks first at the class that this thread used last, which is usually the one.
    private static func known(_ type: ObjectIdentifier) -> Unmanaged<ClassMessages>? {
        let thread = ThreadState.current
        if let last = thread?.pointee.lastClass, last.type == type { return last.messages }
        guard let messages = all.withLock({ $0[type] }).map(Unmanaged.passUnretained) else { return nil }
        thread?.pointee.lastClass = (type, messages)
        return messages
    }

    private static let none = ClassMessages(className: "an object without messages", bodies: [])
    private static let all = Mutex<[ObjectIdentifier: ClassMessages]>([:])

    /// The table of the object's dynamic class, which may be a subclass of the one that conforms.
    @discardableResult
    static func of(_ object: some Vendable) -> Unmanaged<ClassMessages> {
        let type = type(of: object)
        let key = ObjectIdentifier(type)
        if let known = known(key) { return known }
        // `messages` is user code, so it runs without the lock. Two threads may both make the table; the first one is kept.
        let bodies = type.messages.bodies
        for body in bodies {
            precondition(
                body.fits(object), "\(type).messages lists “\(body.name)” of the unrelated class \(body.targetName)")
        }
        let made = ClassMessages(className: String(describing: type), bodies: bodies)
        return all.withLock { tables in
            if let known = tables[key] { return Unmanaged.passUnretained(known) }
            tables[key] = made
            return Unmanaged.passUnretained(made)
        }
    }
}
