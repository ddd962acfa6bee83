import Foundation
import TestSupport
import Testing

@Suite("Output that cannot be written")
struct LostOutputTests {
    @Test(
        "If standard output cannot be written, a program reports it and fails",
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")),
        arguments: [
            ("FooBarClient", []), ("AppState", []), ("ItemStore", ["list"]), ("Settings", []),
            ("FooBarClient", ["--help"]), ("distant", ["--help"]),
        ])
    func fullInLostOutput(program: String, words: [String]) async throws {
        let scratch = try TemporaryFolder()
        let script = #"cd "$0" && exec "$@" > /dev/full"#
        let outcome = try await Program.run(
            "/bin/sh", ["-c", script, scratch.path(""), try builtProgram(program)] + words, in: scratch)
        #expect(outcome.status == 1, "\(outcome.status)")
        #expect(outcome.errors.contains("\(program): standard output"), "\(outcome.errors)")
    }

    private static let programs = ["FooBarClient", "FooBarServer", "AppState", "ItemStore", "Settings", "distant"]

    /// Ways to start a program so that its output is lost.
    private static let losses =
        ["2>&-", "2>&- >&-", "2>&- >&- <&-"]
        + (FileManager.default.fileExists(atPath: "/dev/full") ? ["2>/dev/full"] : [])

    @Test(
        "If standard error cannot be written, the exit status still reports the error", arguments: programs, losses)
    func noErrors(program: String, loss: String) async throws {
        let script = #""$0" nonsense -x "# + loss
        let outcome = try await Program.run(
            "/bin/sh", ["-c", script, try builtProgram(program)], in: try TemporaryFolder())
        #expect(outcome.status == 2, "\(outcome.status)")
        #expect(outcome.output.isEmpty && outcome.errors.isEmpty)
    }

    @Test(
        "A program that logs and goes on does so if standard error cannot be written",
        arguments: losses.filter { !$0.contains(" >&-") })
    func noLog(loss: String) async throws {
        let scratch = try TemporaryFolder()
        let words = ["--in", scratch.path]
        let added = try await Program.run("ItemStore", words + ["add", "Clock", "B 2", "45"], in: scratch)
        let key = try #require(added.output.firstMatch(of: /added ([0-9A-F-]{36}):/)).1
        // Its image is missing, which is logged.
        let script = #""$0" "$@" "# + loss
        let outcome = try await Program.run(
            "/bin/sh", ["-c", script, try builtProgram("ItemStore")] + words + ["show", String(key)], in: scratch)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.status)")
        #expect(outcome.output.hasPrefix("Clock"), "\(outcome.output)")
    }

    @Test("A closed standard output is reported, and no file gets its descriptor", arguments: ["AppState", "distant"])
    func closedInLostOutput(program: String) async throws {
        let scratch = try TemporaryFolder()
        let archive = scratch.path("a")
        #expect(try await Program.run("AppState", [archive], in: scratch).status == 0)
        let words = program == "distant" ? ["dump", archive] : [archive]
        let outcome = try await Program.run(
            "/bin/sh", ["-c", #""$0" "$@" >&-"#, try builtProgram(program)] + words, in: scratch)
        #expect(outcome.status == 1, "\(outcome.status)")
        #expect(outcome.errors.hasPrefix("\(program): standard output"), "\(outcome.errors)")
        #expect(try await Program.run("distant", ["check", archive], in: scratch).status == 0)
    }
}
