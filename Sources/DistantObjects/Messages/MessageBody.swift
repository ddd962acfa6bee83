import KeyedArchive

/// A message without its target's type: what the connection works with.
final class MessageBody: Sendable {
    enum Run: Sendable {
        case synchronous(@Sendable (AnyObject, ObjectDecoder, ObjectEncoder) throws -> Void)
        case asynchronous(@Sendable (any Serving) async throws -> Void)
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

    /// For error messages: `Directory.add`.
    var qualifiedName: String { "\(targetName).\(name)" }

    /// For error messages: `add(Foo, Int) -> Int`.
    var signature: String {
        "\(name)(\(argumentTypes.joined(separator: ", "))) -> \(resultType)"
    }
}
