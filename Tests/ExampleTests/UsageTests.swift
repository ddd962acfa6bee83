import Foundation
import TestSupport
import Testing

@Suite("Help, and words that a program does not understand")
struct UsageTests {
    private let scratch: TemporaryFolder
    /// The current folder of the programs, in which nothing may appear.
    private let current: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
        current = try TemporaryFolder()
    }

    /// Every program of Examples, and the tool.
    private static let programs = [
        "AppState", "FooBarClient", "FooBarServer", "ItemStore", "Settings", "Whiteboard", "whiteboard-client",
        "whiteboard-server", "wordcount", "WorkerPool", "workerpool-worker", "SyntaxService", "syntax-helper",
        "distant",
    ]

    private func run(_ program: String, _ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run(
            "/bin/sh", ["-c", #"cd "$0" && exec "$@""#, current.path, try builtProgram(program)] + arguments,
            in: scratch)
    }

    private func expectNothingMade() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: current.path) == [])
    }

    @Test("Help goes to standard output, wherever the option stands, and nothing else happens", arguments: programs)
    func helpInUsage(program: String) async throws {
        for arguments in [["--help"], ["-h"], ["one", "--help"]] {
            // Its only words are files and one option.
            if program == "wordcount", arguments.contains("-h") { continue }
            let outcome = try await run(program, arguments)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(arguments): \(outcome.errors)")
            #expect(outcome.output.hasPrefix("Usage: \(program)"), "\(outcome.output)")
        }
        try expectNothingMade()
    }

    @Test("A wrong word is answered in one line that leads to the help", arguments: programs)
    func wrong(program: String) async throws {
        for arguments in [["--no-such-option"], ["--no-such-option", "x"]] {
            let outcome = try await run(program, arguments)
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(arguments): \(outcome)")
            #expect(outcome.errors.hasPrefix("\(program): "), "\(outcome.errors)")
            #expect(outcome.errors.hasSuffix("; see \(program) --help\n"), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        }
        try expectNothingMade()
    }

    @Test(
        "A word that is missing is named",
        arguments: [
            ("AppState", ["--format"], "binary, xml or compact"), ("FooBarClient", ["--path"], "a path"),
            ("FooBarServer", ["--path"], "one path"), ("FooBarServer", ["--name"], "one name"),
            ("FooBarClient", ["--name"], "a name"), ("ItemStore", [], "list, add, show or remove"),
            ("ItemStore", ["add", "Lamp"], "a serial number"), ("ItemStore", ["show"], "one key"),
            ("ItemStore", ["--in"], "a folder"), ("Settings", ["set", "area"], "a value"),
            ("Settings", ["search"], "a word"), ("Settings", ["--file"], "a file"),
            ("whiteboard-server", [], "the path of a socket"), ("whiteboard-client", ["x"], "a name"),
            ("wordcount", [], "a file is needed"),
        ])
    func missingInUsage(program: String, arguments: [String], word: String) async throws {
        let outcome = try await run(program, arguments)
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
        #expect(
            outcome.errors.contains(word) && outcome.errors.hasSuffix("; see \(program) --help\n"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        try expectNothingMade()
    }

    @Test(
        "A program that others launch says so if it is started by hand, and makes nothing",
        arguments: [
            ("wordcount-worker", []), ("workerpool-worker", []), ("syntax-helper", []),
            ("whiteboard-server", ["socket"]),
        ])
    func byHand(program: String, arguments: [String]) async throws {
        let outcome = try await run(program, arguments)
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors.contains("another program has to launch it"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        try expectNothingMade()
    }
}
