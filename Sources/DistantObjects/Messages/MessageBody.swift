import KeyedArchive

/// A message without its target's type: what the connection works with.
final class MessageBody: Sendable {
    enum Run: Sendable {
        case synchronous(@Sendable (AnyObject, ObjectDecoder, Unmanaged<ObjectEncoder>?) throws -> Void)
        case asynchronous(@Sendable (any Serving) async throws -> Void)
        /// The class has no message of that name: a call of it is refused.
        case unlisted
    }

    let name: String
    let targetName: String
    let argumentTypes: [String]
    let resultType: String
    let run: Run

    init<Target>(name: String, target: Target.Type, argumentTypes: [String], resultType: Any.Type, run: Run) {
        self.name = name
        self.targetName = String(describing: target)
        self.argumentTypes = argumentTypes
        self.resultType = resultType == Void.self ? "Void" : String(describing: resultType)
        self.run = run
    }

    /// Runs a synchronous method, and encodes its result if there is an encoder for it.
    ///
    /// A function of its own, as to take the method out of `run` would count a reference for each call.
    func runSynchronously(_ object: AnyObject, _ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?) throws {
        guard case .synchronous(let run) = run else { return }
        try run(object, decoder, encoder)
    }

    /// Runs an `async` method, and encodes its result.
    func run(_ call: any Serving) async throws {
        guard case .asynchronous(let run) = run else { return }
        try await run(call)
    }

    var isSynchronous: Bool {
        if case .synchronous = run { true } else { false }
    }

    var isUnlisted: Bool {
        if case .unlisted = run { true } else { false }
    }

    /// Stands for a name that the class does not list.
    init(unlisted name: String, of className: String) {
        self.name = name
        targetName = className
        argumentTypes = []
        resultType = ""
        run = .unlisted
    }

    /// For error messages: `Directory.add`.
    var qualifiedName: String { "\(targetName).\(name)" }

    /// For error messages: `add(Foo, Int) -> Int`.
    var signature: String {
        "\(name)(\(argumentTypes.joined(separator: ", "))) -> \(resultType)"
    }
}
