import TestSupport
import Testing

@Suite("The examples WorkerPool and Whiteboard")
struct PoolTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test(
        "The pool finds every prime once, although a worker is killed and replaced, and leaves nothing behind",
        arguments: [1, 3])
    func pool(workers: Int) async throws {
        let outcome = try await Program.run("WorkerPool", ["\(workers)"], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n")
        // One that did not finish the handshake in time, as on a busy machine, has not run.
        let deaths = lines.indices.filter { lines[$0].contains(" has died (") && !lines[$0].contains("handshake") }
        #expect(!deaths.isEmpty, "\(outcome.output)")
        for death in deaths {
            let worker = try #require(lines[death].firstMatch(of: #/worker \d+ /#)).0
            let (before, after) = (lines[..<death], lines[death...])
            #expect(before.contains { $0.hasPrefix("\(worker)runs as process") }, "\(outcome.output)")
            // The others may finish before another one runs in its place.
            let isReplaced = after.contains { $0.hasPrefix("\(worker)runs as process") }
            #expect(isReplaced || workers > 1, "\(outcome.output)")
        }
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

    #if canImport(Glibc)
        @Test("On a terminal a bar grows with each block that is finished", arguments: [1, 3])
        func progress(workers: Int) async throws {
            let terminal = try Terminal()
            let program = try Program("WorkerPool", ["\(workers)"], in: scratch, terminal: terminal.path)
            #expect(try await eventually { terminal.text.hasSuffix("] 40 of 40\r\n") }, "\(terminal.text)")
            let outcome = try await program.finish()
            #expect(outcome.status == 0, "\(outcome.output) \(terminal.text)")
            // The end of the line is one character.
            let bars = terminal.text.dropLast().split(separator: "\r")
            let counts = bars.compactMap { bar -> Int? in
                guard let match = bar.wholeMatch(of: /\[(#*)(\.*)\] (\d+) of 40/), let count = Int(match.3),
                    match.1.count == count, match.2.count == 40 - count
                else { return nil }
                return count
            }
            #expect(counts.count == bars.count && counts.last == 40, "\(terminal.text)")
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 }, "\(counts)")
            if workers == 1 { #expect(counts == Array(1...40)) }
        }
    #endif

    @Test("They print help, and refuse what they do not understand")
    func usageInPool() async throws {
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
