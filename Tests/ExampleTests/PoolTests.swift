import TestSupport
import Testing

@Suite("The examples WorkerPool and Whiteboard")
struct PoolTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test("The pool finds every prime once, although a worker is killed, and leaves nothing behind", arguments: [1, 3])
    func pool(workers: Int) async throws {
        let outcome = try await Program.run("WorkerPool", ["\(workers)"], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        for line in [
            "17984 primes, from 2 to 199999", "the first three above a billion: 1000000007, 1000000009, 1000000021",
            "all workers have ended, every table is empty",
        ] {
            #expect(outcome.output.contains(line), "\(outcome.output)")
        }
        #expect(outcome.errors.isEmpty)
    }

    @Test("Each client of the whiteboard sees all strokes, and learns of one that has died")
    func whiteboard() async throws {
        let outcome = try await Program.run("Whiteboard", [], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        for line in [
            "at the whiteboard: Ada, Ben, Cleo", "Cleo sees 5 strokes of Ada, 5 strokes of Ben, 5 strokes of Cleo",
            "Ben was killed; at the whiteboard: Ada, Cleo", "all have seen 16 strokes",
            "the server has ended, every table is empty",
        ] {
            #expect(outcome.output.contains(line), "\(outcome.output)")
        }
        #expect(outcome.errors.isEmpty)
    }

    @Test("They print help, and refuse what they do not understand")
    func usage() async throws {
        for program in ["WorkerPool", "Whiteboard"] {
            let outcome = try await Program.run(program, ["--help"], in: scratch)
            #expect(outcome.status == 0 && outcome.output.hasPrefix("Usage: \(program)"))
        }
        for (program, argument) in [("WorkerPool", "no"), ("WorkerPool", "0"), ("Whiteboard", "no")] {
            let outcome = try await Program.run(program, [argument], in: scratch)
            #expect(outcome.status == 2 && outcome.errors.hasPrefix("\(program): ") && outcome.output.isEmpty)
        }
        // The helpers, started by hand, say who launches them.
        for program in ["workerpool-worker", "whiteboard-server", "whiteboard-client"] {
            let outcome = try await Program.run(program, [], in: scratch)
            #expect((1...2).contains(outcome.status) && outcome.errors.contains("launches this program"))
        }
    }
}
