// Interfaces and their signatures.
extension WrongUse {
    private static let noResult =
        "the result has to be Codable, a Remote, a DistantStream, or Void; instead of a tuple, a structure"

    static let interfaces: [WrongUse] = [
        .declarations("struct I: Interface { let p = Signature<Plain, Int>(\"p\") }", noResult),
        .declarations("struct I: Interface { let p = Signature<(Int, String), Int>(\"p\") }", noResult),
        .declarations("struct I: Interface { let p = Signature<[any Shape], Int>(\"p\") }", noResult),
        .declarations(
            "struct I: Interface { let p = Signature<Void, Plain>(\"p\") }", "requires that 'Plain' conform to"),
        .declarations(
            "struct I: Interface { let p = Signature<Void, [any Shape]>(\"p\") }",
            "type 'any Shape' cannot conform to 'Decodable'"),
        .declarations(
            """
            final class Doc: Codable { var x = 1 }
            struct I: Interface { let p = Signature<DistantStream<Doc>>("p") }
            """, "does not conform to the 'Sendable' protocol"),
        .declarations(
            "enum I: Interface { static let p = Signature<Int>(\"p\") }", "does not conform to protocol 'Interface'"),
        // Signatures may be computed, and be in a class.
        .declarations(
            """
            struct I: Interface { var p: Signature<Int> { Signature("p") } }
            final class J: Interface { let p = Signature<Int>("p") }
            """),
        .declarations(
            """
            protocol Greeter { func greet(_ name: String) async throws -> String }
            struct I: Interface { let hello = Signature<String, String>("hello") }
            struct RemoteGreeter: Greeter {
                let remote: Remote<I>
                func greet(_ name: String) async throws -> String { try await remote.hello(name) }
            }
            """),
    ]

    /// A type that other modules see, which has to stand outside of all others.
    static let publicInterface = (
        source: "import DistantObjects\npublic struct I: Interface { public let a = Signature<Int>(\"a\") }\n", line: 2,
        answer: "initializer 'init()' must be declared public because it matches a requirement"
    )
}
