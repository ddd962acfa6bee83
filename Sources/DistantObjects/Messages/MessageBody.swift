import KeyedArchive

/// A message without its target's type: what the connection works with.
final class MessageBody: Sendable {
    enum Run: Sendable {
        case synchronous(@Sendable (AnyObject, ObjectDecoder, ObjectEncoder) throws -> Void)
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
