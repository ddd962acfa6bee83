import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("The example SyntaxService")
struct SyntaxServiceTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    /// Starts the program with its temporary files in the test's folder, and a variable that its helpers inherit.
    ///
    /// - Parameter patience: How many seconds a helper may be silent.
    private func start(_ arguments: String..., patience: Double = 5) throws -> Program {
        let script = #"TMPDIR="$0" SYNTAX_PATIENCE="$1" && export TMPDIR SYNTAX_PATIENCE && shift && exec "$@""#
        let words = [scratch.path, "\(patience)", try builtProgram("SyntaxService")]
        return try Program("/bin/sh", ["-c", script] + words + arguments, in: scratch)
    }

    /// The folders with the helper's program.
    private func installations() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0.hasPrefix("SyntaxService-") }
    }

    /// The helpers that the program has said it runs.
    private func helpers(_ output: String) -> [Int32] {
        output.matches(of: /process (\d+)/).compactMap { Int32($0.1) }
    }

    @Test("It survives everything, loses only what has brought the helper down, and leaves nothing", arguments: 1...3)
    func story(seed: Int) async throws {
        let outcome = try await start("\(seed)").finish()
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        let rows: [(String, String, String)] = [
            ("A file crashes the helper", "8", "crash.txt (the helper died of it)"),
            ("A file makes the helper hang", "9", "hang.txt (the helper died of it)"),
            ("A file takes too long", "8", "slow.txt (took too long)"),
            ("A file makes the helper leak memory", "8", "leak.txt (the helper died of it)"),
            ("A file makes the helper print", "9", "none"), ("A newer build replaces the helper", "16", "none"),
        ]
        let table = outcome.output.split(separator: "\n").drop { !$0.hasPrefix("Survived") }.dropFirst()
        #expect(table.count == rows.count, "\(outcome.output)")
        for (line, (title, answers, lost)) in zip(table, rows) {
            let expected = try Regex("\(title) +[1-9][0-9]* +\(answers) +")
            #expect(try expected.prefixMatch(in: line) != nil && line.hasSuffix("  \(lost)"), "\(line)")
        }
        for line in [
            "the helper has died: it was ended by signal 6 (SIGABRT); process",
            "the helper has died: it had not answered for 5.0 seconds, and it was ended by signal 9 (SIGKILL); process",
            "the helper has died: it had taken ", "slow.txt takes too long, and is left out",
            "the helper had printed: found the name “print”", "build 2 of the helper has taken over",
        ] {
            #expect(outcome.output.contains("\n  \(line)"), "\(outcome.output)")
        }
        #expect(!helpers(outcome.output).isEmpty)
        #if canImport(Glibc)
            // By then the number of a helper may be that of another process.
            #expect(processes().isEmpty, "\(processes())")
        #else
            #expect(helpers(outcome.output).allSatisfy { !isAlive($0) })
        #endif
        #expect(try installations() == [])
    }

    #if canImport(Glibc)
        /// The processes with the test's folder in a variable, and whether they are stopped.
        private func processes() -> [(pid: Int32, isStopped: Bool)] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return names.compactMap { Int32($0) }.compactMap { pid in
                guard let variables = FileManager.default.contents(atPath: "/proc/\(pid)/environ"),
                    String(decoding: variables, as: UTF8.self).contains("TMPDIR=\(scratch.path)"), isAlive(pid),
                    let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat")
                else { return nil }
                let state = String(decoding: stat, as: UTF8.self).split(separator: ")").last
                return (pid, state?.hasPrefix(" T") == true)
            }
        }

        // The helper stays as it is: with that patience, neither a silent helper is killed nor a slow call given up.
        @Test(
            "Nothing of it runs on when a signal ends it, whatever the helper does at that moment",
            arguments: [SIGKILL, SIGINT, SIGTERM], ["crash", "hang", "slow"])
        func signalled(signal: Int32, trouble: String) async throws {
            let program = try start(trouble, "hang", patience: 100_000)
            try #require(try await program.waits(for: "the helper runs as process"), "\(program.output)")
            if trouble == "hang" {
                // It cannot notice the end of its launcher by itself.
                try #require(try await eventually { processes().contains { $0.isStopped } })
            }
            kill(program.pid, signal)
            let outcome = try await program.finish()
            #expect(outcome.status == 128 + signal, "\(outcome)")
            #expect(try await eventually { processes().isEmpty }, "\(processes())")
            if signal != SIGKILL { #expect(try installations() == []) }
        }
    #endif
}
