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

    private struct LogInterface: Interface {
        let append = Signature<Int, DistantStream<String>>("append")
        let lines = Signature<DistantStream<String>, Int>("lines")
        let search = Signature<DistantStream<[String]>.WithFinal<Int>, String>("search")
        let watch = Signature<DistantStream<Remote<LogInterface>>>("watch")
    }

    private final class Log: Vendable, Implements {
        typealias I = LogInterface

        static var messages: MessageTable<Log> {
            Message(\I.append) { (_: Log) in { (_: DistantStream<String>) async -> Int in 0 } }
            Message(\I.lines) { (_: Log) in { (_: Int) in DistantStream<String>([]) } }
            Message(\I.search) { (_: Log) in { (_: String) in DistantStream<[String]>.WithFinal<Int> { _ in 0 } } }
            Message(\I.watch) { (_: Log) in { () in DistantStream<Remote<LogInterface>>([]) } }
            // Without an interface the method says what it returns.
            Message("numbers") { (_: Log) in { () -> DistantStream<Int>.WithFinal<String> in .init { _ in "" } } }
        }
    }

    @Test("A stream is listed with its elements, and with its final value if it has one")
    func streamsInInterfaces() async throws {
        let path = scratch.path("s")
        let listener = try Listener(at: .path(path), configuration: .patientExample)
        let serving = Task { for await connection in listener { connection.vend(["": Log()]) } }
        var outcome = try await distant("interfaces", path)
        while outcome.isOfBusyMachine { outcome = try await distant("interfaces", path) }
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        let expected = """
            root: Log
                append(DistantStream<String>) -> Int
                lines(Int) -> DistantStream<String>
                numbers() -> DistantStream<Int>.WithFinal<String>
                search(String) -> DistantStream<Array<String>>.WithFinal<Int>
                watch() -> DistantStream<Remote<LogInterface>>

            """
        #expect(outcome.output == expected)
        listener.close()
        await serving.value
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
        while outcome.isOfBusyMachine { outcome = try await distant("interfaces", path) }
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
    func failuresInInterfaces() async throws {
        let nobody = try await distant("interfaces", scratch.path("s"))
        #expect(nobody.status == 1 && nobody.output.isEmpty)
        #expect(nobody.errors.hasPrefix("distant: ") && nobody.errors.contains(scratch.path("s")), "\(nobody.errors)")
        #expect(try await distant("interfaces").status == 2)
    }
}
