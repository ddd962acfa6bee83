import DistantObjects
import TestSupport
import Testing

@Suite("distant interfaces")
struct InterfacesTests {
    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    private func distant(_ words: String...) async throws -> Program.Outcome {
        try await Program.run("distant", words, in: scratch)
    }

    private final class Plain: Vendable {
        static var messages: MessageTable<Plain> {
            Message("add") { (_: Plain) in { (_: [Int], _: DistantObject?) -> Bool in true } }
            Message("a\u{7}b") { (_: Plain) in { () in } }
        }
    }

    @Test("The roots of a running service are listed with their messages")
    func listing() async throws {
        let path = scratch.path("s")
        let listener = try Listener(at: .path(path), configuration: .patientExample)
        let serving = Task {
            for await connection in listener {
                connection.vend(["": Plain(), "bank": CheckedCallsCode.Bank()])
            }
        }
        var outcome = try await distant("interfaces", path)
        // The tool has the library's own limit, and the task that serves may get its turn later than that.
        while outcome.errors.contains("no answer came within") { outcome = try await distant("interfaces", path) }
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        let expected = """
            root: Plain
                "a\\u{7}b() -> Void"
                add(Array<Int>, DistantObject?) -> Bool
            root “bank”: Bank
                find(String) -> Remote<AccountInterface>?
                open(String) -> Remote<AccountInterface>
                watch(Remote<ObserverInterface>) -> Void

            """
        #expect(outcome.output == expected)
        listener.close()
        await serving.value
    }

    @Test("Where nobody listens the tool says so and ends with 1; without a path it ends with 2")
    func failures() async throws {
        let nobody = try await distant("interfaces", scratch.path("s"))
        #expect(nobody.status == 1 && nobody.output.isEmpty)
        #expect(nobody.errors.hasPrefix("distant: ") && nobody.errors.contains(scratch.path("s")), "\(nobody.errors)")
        #expect(try await distant("interfaces").status == 2)
    }
}
