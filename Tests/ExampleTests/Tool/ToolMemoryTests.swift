import ArchiveFixtures
import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The tool's memory for broken and hostile files, which the system limits to 64 MiB.
@Suite(
    "Memory of distant",
    .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
struct ToolMemoryTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    /// Runs each command on each file, and prints the files with an exit status other than 0 or 1.
    private static let script = """
        distant=$1 out=$2
        shift 2
        ulimit -c 0
        ulimit -d 65536 || exit 3
        for file; do
            for command in check dump "dump --json" "convert --to xml" "convert --to compact"; do
                case $command in convert*) target=$out ;; *) target= ;; esac
                "$distant" $command "$file" $target >/dev/null 2>&1
                status=$?
                [ $status -le 1 ] || echo "$command $file: $status"
            done
        done
        """

    private func look(at paths: [String]) async throws -> Program.Outcome {
        let distant = try builtProgram("distant")
        return try await Program.run(
            "/bin/sh", ["-c", Self.script, "sh", distant, scratch.path("out")] + paths, in: scratch)
    }

    @Test("None of the broken and hostile archives needs more than 64 MiB")
    func fixturesInToolMemory() async throws {
        let paths = try Fixtures.write(Fixtures.malformed(), into: scratch.path("malformed"))
        #expect(Fixtures.isCount(paths.count, ofOthers: 229, own: 200))
        let outcome = try await look(at: paths)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.output.isEmpty, "\(outcome.output)")
    }

    @Test("None of the generated ones does, but an archive of that size does")
    func ownMaking() async throws {
        let files: [(String, Data)] = [
            ("shared", SampleArchives.shared(levels: 60)),
            (
                "claim",
                Data(Array("bplist00".utf8) + [0xAF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 40))
            ),
            ("nested", Data(String(repeating: "<array>", count: 50_000).utf8)),
            ("cut", Data(try SampleArchives.teams().bytes(format: .binary).dropLast(7))),
            ("empty", Data()),
        ]
        let paths = try files.map { name, data in
            try data.write(to: URL(fileURLWithPath: scratch.path(name)))
            return scratch.path(name)
        }
        let outcome = try await look(at: paths)
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)\(outcome.errors)")

        // Input that is no archive is not read to its end, which it may not have.
        let endless = try await look(at: ["/dev/zero"])
        #expect(endless.status == 0 && endless.output.isEmpty, "\(endless.output)\(endless.errors)")

        let large = scratch.path("large")
        try Data(count: 80 << 20).write(to: URL(fileURLWithPath: large))
        let beyond = try await look(at: [large])
        #expect(beyond.output.contains("check \(large): "), "nothing bounds the memory: \(beyond.output)")
    }
}
