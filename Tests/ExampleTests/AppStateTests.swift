import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("AppState restores its objects")
struct AppStateTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("AppState", arguments, in: scratch)
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    @Test(
        "The first run makes the objects, and later runs restore and change them",
        arguments: ["binary", "xml", "compact"])
    func runs(format: String) async throws {
        let path = scratch.path("foo2.archive")
        let first = try await run("--format", format, path)
        #expect(first.status == 0 && first.errors.isEmpty, "\(first.errors)")
        #expect(
            first.output == """
                first run: myfoo is James, 40; mybar has Juliana, 7; Nicolas, 3
                saved in \(path), \(format)

                """)
        #expect(ArchiveFormat(detecting: try bytes(path))?.description == format)
        for (number, (ordinal, age)) in [("2nd", 40), ("3rd", 41), ("4th", 42)].enumerated() {
            let later = try await run(path)
            #expect(later.status == 0 && later.errors.isEmpty, "\(later.errors)")
            let state = { (years: Int) in "James, \(40 + years); mybar has Juliana, \(7 + years); Nicolas, \(3 + years)"
            }
            #expect(
                later.output == """
                    \(ordinal) run: myfoo is \(state(number))
                    a year later: myfoo is \(state(number + 1))
                    saved in \(path), \(format)

                    """, "\(age)")
        }
    }

    @Test("A run may write another format than the one it read")
    func otherFormat() async throws {
        let path = scratch.path("a")
        _ = try await run("--format", "compact", path)
        let second = try await run("--format", "xml", path)
        #expect(second.status == 0)
        #expect(second.output.hasPrefix("2nd run: myfoo is James, 40"))
        #expect(ArchiveFormat(detecting: try bytes(path)) == .xml)
    }

    @Test("Classes written for Foundation can read the file")
    func foundationInAppState() async throws {
        let path = scratch.path("a")
        for format in ["binary", "xml"] {
            #expect(try await run("--format", format, path).status == 0)
            let reader = try await Program.run(
                "foundation-reader", ["--own", path, "object:myfoo", "object:mybar"], in: scratch)
            #expect(reader.status == 0, "\(format): \(reader.errors)")
            let age = format == "binary" ? 0 : 1
            #expect(
                reader.output == """
                    myfoo = OwnFoo(James, \(40 + age))
                    mybar = OwnBar[OwnFoo(Juliana, \(7 + age)), OwnFoo(Nicolas, \(3 + age)), "one more"]

                    """)
        }
    }

    @Test("An empty file is a first run")
    func emptyInAppState() async throws {
        let path = scratch.path("a")
        try Data().write(to: URL(fileURLWithPath: path))
        let outcome = try await run(path)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.output.hasPrefix("first run: "))
    }

    @Test("Each damaged file is reported and kept under another name")
    func damagedInAppState() async throws {
        let path = scratch.path("a")
        for (number, text) in ["bplist00 and no more", "not at all"].enumerated() {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let outcome = try await run(path)
            let aside = "\(path).damaged\(number == 0 ? "" : "-2")"
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("first run: "))
            #expect(outcome.errors.hasPrefix("AppState: the file \(path) cannot be opened: "), "\(outcome.errors)")
            #expect(outcome.errors.hasSuffix("; it is kept as \(aside)\n"), "\(outcome.errors)")
            // Once as itself, and once as the start of its new name.
            #expect(outcome.errors.components(separatedBy: path).count == 3, "\(outcome.errors)")
            #expect(try bytes(aside) == Data(text.utf8))
        }
        let next = try await run(path)
        #expect(next.output.hasPrefix("2nd run: "))
    }

    @Test("If it is killed while it saves, the old or the new file is complete")
    func killedInAppState() async throws {
        let path = scratch.path("a")
        #expect(try await run("--format", "xml", path).status == 0)
        var runs = 1
        for _ in 0..<20 {
            let program = try Program("AppState", [path], in: scratch)
            // The last line that it prints before it saves.
            while !program.output.contains("a year later"), isAlive(program.pid) { await Task.yield() }
            program.kill()
            _ = try await program.finish()
            let found = try KeyedUnarchiver(contentsOf: URL(fileURLWithPath: path)).decode(Int.self, forKey: "runs")
            #expect(found == runs || found == runs + 1)
            runs = found
        }
        let next = try await run(path)
        #expect(next.status == 0 && next.errors.isEmpty, "\(next.errors)")
    }

    @Test("On a full disk the old file stays, and no other file is left")
    func fullInAppState() async throws {
        let path = scratch.path("a")
        #expect(try await run("--format", "xml", path).status == 0)
        let old = try bytes(path)
        let folder = scratch.path
        let before = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("a") }
        // This limits the size of files. The signal for it is ignored.
        let limited = #"trap "" XFSZ; ulimit -f 1; exec "$0" "$@""#
        let program = try builtProgram("AppState")
        let outcome = try await Program.run("/bin/sh", ["-c", limited, program, path], in: scratch)
        #expect(old.count > 1_500 && outcome.status == 1)
        #expect(outcome.errors.contains("is there room on the disk?"), "\(outcome.errors)")
        #expect(try bytes(path) == old)
        let after = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("a") }
        #expect(after == before)
    }

    @Test("A damaged file that cannot be renamed stays, with an error message")
    func notKeptAside() async throws {
        // The name has the maximum length.
        let path = scratch.path(String(repeating: "x", count: 250))
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: path))
        let outcome = try await run(path)
        #expect(outcome.status == 1 && outcome.output.isEmpty)
        #expect(
            outcome.errors.hasPrefix("AppState: the file \(path) is damaged, and cannot be kept as "),
            "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1 && !outcome.errors.contains("NSError"))
        #expect(try bytes(path) == Data("damaged".utf8))
    }

    @Test("The largest age and run number do not overflow")
    func lastNumbers() async throws {
        let path = scratch.path("a")
        let first = try await run(path)
        #expect(first.status == 0)
        var graph = try ArchivedGraph(Data(contentsOf: URL(fileURLWithPath: path)))
        for index in graph.objects.indices where graph.objects[index].className == "Foo" {
            guard graph.objects[index].record != nil else { continue }
            try graph.setValue(.integer(.max), forKey: "age", of: index)
        }
        graph.setRoot(.integer(.max), forKey: "runs")
        try Data(graph.bytes(format: .binary)).write(to: URL(fileURLWithPath: path))
        let outcome = try await run(path)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.status): \(outcome.errors)")
        #expect(outcome.output.contains("a year later: myfoo is James, \(Int.max);"), "\(outcome.output)")
    }

    @Test("A path that is no regular file is left unchanged")
    func special() async throws {
        let path = scratch.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(writer) }
        let outcome = try await run(path)
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasSuffix("cannot be replaced: it is not an ordinary file\n"), "\(outcome.errors)")
        var info = stat()
        #expect(stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("An archive with other content is kept under another name, too")
    func otherInAppState() async throws {
        let path = scratch.path("a")
        try KeyedArchiver.archive(["a": 1], to: URL(fileURLWithPath: path), format: .binary)
        let outcome = try await run(path)
        #expect(outcome.status == 0)
        #expect(outcome.errors.hasPrefix("AppState: the file \(path) is damaged (myfoo: "), "\(outcome.errors)")
        #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
    }

    @Test("A failed write is reported")
    func failedWrite() async throws {
        let path = scratch.path("no/such/folder")
        let outcome = try await run(path)
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("first run: ") && !outcome.output.contains("saved"))
        #expect(outcome.errors.hasPrefix("AppState: ") && outcome.errors.contains(path), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test("Wrong usage and help", arguments: [["--format"], ["--format", "json"], ["a", "b"], ["--what"]])
    func usageInAppState(arguments: [String]) async throws {
        let outcome = try await Program.run("AppState", arguments, in: scratch)
        #expect(outcome.status == 2 && outcome.errors.hasSuffix("; see AppState --help\n"))
        let help = try await run("--help")
        #expect(help.status == 0 && help.output.hasPrefix("Usage: AppState"))
    }
}
