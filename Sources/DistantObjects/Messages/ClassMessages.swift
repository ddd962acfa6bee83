import KeyedArchive
import Synchronization

/// The message table of one class in the form that connections use.
///
/// Made once for each class in a process.
///
/// It is never freed, so uses of it count no references.
final class ClassMessages: Sendable {
    let className: String
    private let description: ClassDescription
    /// The messages, in the order of the description.
    private let bodies: [MessageBody]
    /// The description of the class that peers get; `nil` if its names are too long for that.
    let described: DescribedClass?
    /// The error for objects of the class, if its table lists messages that the class cannot answer, or lacks some that
    /// it has to.
    let mismatch: ConnectionError?
    /// Whether messages are passed on to the process that owns the object.
    private let isPassedOn: Bool
    /// The errors that the interface of the class lists.
    let errors: InterfaceErrors?
    /// Whether each object of the class has messages of its own.
    private let differsByObject: Bool

    /// - Parameters:
    ///   - unrelated: A message of another class that the table lists by mistake.
    ///   - interface: What the class says it implements.
    private init(
        className: String, bodies: [MessageBody], unrelated: MessageBody? = nil,
        implementing interface: AnyInterfaceShape? = nil, isPassedOn: Bool = false, differsByObject: Bool = false
    ) {
        self.className = className
        self.isPassedOn = isPassedOn
        errors = interface?.errors
        self.differsByObject = differsByObject
        // Of two messages with one name, the later one counts.
        var listed: [MessageBody] = []
        for body in bodies.reversed() where !listed.contains(where: { $0.name == body.name }) { listed.append(body) }
        listed.sort { $0.name < $1.name }
        self.bodies = listed
        let description = ClassDescription(className, listed.map(\.description))
        self.description = description
        described = description.definition.map { DescribedClass(definition: $0) }
        let problems = interface.map { $0.faults + $0.signatures.compactMap { $0.obstacle(in: description) } } ?? []
        if let unrelated {
            mismatch = ConnectionError(
                .notEncodable, "its messages list “\(unrelated.name)” of the unrelated class \(unrelated.targetName)",
                context: className)
        } else if let interface, !problems.isEmpty {
            mismatch = interface.mismatch(problems, className)
        } else {
            mismatch = nil
        }
    }

    /// The message with that name, or an unlisted one that stands for a name the class does not list.
    func message(named name: String) -> MessageBody {
        if isPassedOn { return MessageBody(passedOn: name, of: className) }
        if let index = description.index(of: name) { return bodies[index] }
        return name.isEmpty ? .itself : MessageBody(unlisted: name, of: className)
    }

    /// The table of the answer to a call while the answer is not known.
    static let unknown = Unmanaged.passRetained(ClassMessages(className: "the answer to a call", bodies: []))
    /// The table of an answer that is an object of the peer, to which all messages are passed on.
    static let passedOn = Unmanaged.passRetained(
        ClassMessages(className: "an object of the caller", bodies: [], isPassedOn: true))

    /// The table of an object whose class has gone through `of(_:)`.
    ///
    /// Runs no user code.
    static func known(_ object: AnyObject) -> Unmanaged<ClassMessages> {
        let messages = known(ObjectIdentifier(type(of: object))) ?? Unmanaged.passUnretained(none)
        return messages._withUnsafeGuaranteedRef({ $0.differsByObject }) ? messagesOf(object) : messages
    }

    /// The messages of an object that has some of its own.
    @inline(never)
    private static func messagesOf(_ object: AnyObject) -> Unmanaged<ClassMessages> {
        Unmanaged.passUnretained((object as? GatedObject)?.ownMessages ?? none)
    }

    /// The table with other bodies for the messages, without those for which there is none.
    func changed(_ change: (MessageBody) -> MessageBody?) -> ClassMessages {
        ClassMessages(className: className, bodies: bodies.compactMap(change))
    }

    /// The table of a class.
    ///
    /// Checks first the class that this thread used last, which is usually the right one.
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
        if known(key) != nil { return known(object) }
        // `messages` is user code, so it runs without the lock. Two threads may both make the table; the first one is kept.
        let interface = (type as? any Implements.Type).map { shape(ofInterfaceOf: $0) }
        let bodies = type.messages.bodies
        let (fitting, unrelated) = (bodies.filter { $0.fits(object) }, bodies.first { !$0.fits(object) })
        let made = ClassMessages(
            className: typeName(type), bodies: fitting, unrelated: unrelated, implementing: interface,
            differsByObject: type is GatedObject.Type)
        all.withLock { tables in
            if tables[key] == nil { tables[key] = made }
        }
        return known(object)
    }
}

private func shape<Class: Implements>(ofInterfaceOf type: Class.Type) -> AnyInterfaceShape {
    InterfaceShape<Class.I>.of(Class.I.self)
}
