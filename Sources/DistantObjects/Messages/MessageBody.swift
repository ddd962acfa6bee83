import KeyedArchive

/// A message with its target's type erased, as connections use it.
final class MessageBody: Sendable {
    enum Run: Sendable {
        case synchronous(@Sendable (AnyObject, ObjectDecoder, Unmanaged<ObjectEncoder>?) throws -> Void)
        case asynchronous(@Sendable (any AsyncCall) async throws -> Void)
        /// The class has no message of that name; a call to it is refused.
        case unlisted
        /// The object lives in the caller's process, to which the call is sent back.
        case passedOn

        var isSynchronous: Bool {
            if case .synchronous = self { true } else { false }
        }

        var isUnlisted: Bool {
            if case .unlisted = self { true } else { false }
        }

        /// The synchronous method; does nothing for other messages.
        var body: @Sendable (AnyObject, ObjectDecoder, Unmanaged<ObjectEncoder>?) throws -> Void {
            if case .synchronous(let body) = self { body } else { { _, _, _ in } }
        }
    }

    let targetName: String
    /// Whether an object has the class that `run` expects of it.
    let fits: @Sendable (AnyObject) -> Bool
    let description: MessageDescription
    /// The number of arguments; nil if any number will do.
    let argumentCount: Int?
    let run: Run
    // Stored, because reading them out of `run` would retain a closure in each call.
    let isSynchronous: Bool
    let isUnlisted: Bool
    private let synchronous: @Sendable (AnyObject, ObjectDecoder, Unmanaged<ObjectEncoder>?) throws -> Void

    init<Target: AnyObject>(_ description: MessageDescription, of target: Target.Type, run: Run) {
        targetName = typeName(target)
        fits = { $0 is Target }
        self.description = description
        argumentCount = description.arguments.count
        self.run = run
        (isSynchronous, isUnlisted, synchronous) = (run.isSynchronous, run.isUnlisted, run.body)
    }

    var name: String { description.name }

    /// Runs a synchronous method, and encodes its result if there is an encoder.
    func runSynchronously(_ object: AnyObject, _ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?) throws {
        try synchronous(object, decoder, encoder)
    }

    /// Runs an `async` method and encodes its result.
    func run(_ call: any AsyncCall) async throws {
        guard case .asynchronous(let run) = run else { return }
        try await run(call)
    }

    /// A message that objects of any class answer in the same way.
    private init(_ description: MessageDescription, of className: String, argumentCount: Int?, run: Run) {
        targetName = className
        fits = { _ in true }
        self.description = description
        self.argumentCount = argumentCount
        self.run = run
        (isSynchronous, isUnlisted, synchronous) = (run.isSynchronous, run.isUnlisted, run.body)
    }

    /// A message that is run in another way.
    convenience init(_ other: MessageBody, run: Run) {
        self.init(other.description, of: other.targetName, argumentCount: other.argumentCount, run: run)
    }

    /// A stand-in for a name that the class does not list.
    convenience init(unlisted name: String, of className: String) {
        self.init(MessageDescription(name, [], .nothing), of: className, argumentCount: 0, run: .unlisted)
    }

    /// A message to an answer that is an object of the caller.
    convenience init(passedOn name: String, of className: String) {
        self.init(MessageDescription(name, [], .nothing), of: className, argumentCount: nil, run: .passedOn)
    }

    /// The message without a name, which every object answers with a reference to itself.
    static let itself = MessageBody(
        MessageDescription("", [], TypeDescription(.reference, "")), of: "an object", argumentCount: 0,
        run: .synchronous { object, _, encoder in
            try encoder?._withUnsafeGuaranteedRef { try $0.encodeTop(Itself(object: object)) }
        })

    var isPassedOn: Bool {
        if case .passedOn = run { true } else { false }
    }

    /// For error messages: `Directory.add`.
    var qualifiedName: String { "\(targetName).\(name)" }

    /// For error messages: `add(Foo, Int) -> Int`.
    var signature: String { description.description }
}

/// An object that answers with a reference to itself.
private struct Itself: _ByReferenceCodable {
    let object: AnyObject

    func _external(for owner: AnyObject?) -> _ExternalValue { .object(object) }
}
