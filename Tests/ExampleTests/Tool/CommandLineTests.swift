import ArchiveFixtures
import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("The command line of distant")
struct CommandLineTests {
    private let scratch: TemporaryFolder
    private let teams: String

    init() throws {
        scratch = try TemporaryFolder()
        teams = scratch.path("teams")
        try Data(SampleArchives.teams().bytes(format: .binary)).write(to: URL(fileURLWithPath: teams))
    }

    private func distant(_ words: String...) async throws -> Program.Outcome {
        try await Program.run("distant", words, in: scratch)
    }

    private func garbage() throws -> String {
        try Data("garbage".utf8).write(to: URL(fileURLWithPath: scratch.path("garbage")))
        return scratch.path("garbage")
    }

    @Test("Help is also a command, and the version names those of the wire protocol and the compact format")
    func helpInCommandLine() async throws {
        for words in [["help"], ["help", "dump"]] {
            let outcome = try await Program.run("distant", words, in: scratch)
            #expect(outcome.status == 0 && outcome.output.hasPrefix("Usage: distant dump"))
        }
        let version = try await distant("--version")
        #expect(version.status == 0 && version.errors.isEmpty)
        let changes = try DocumentedCode.text(of: try #require(DocumentedCode.documents["Changes.md"]))
        for what in ["wire protocol", "compact format"] {
            let row = try #require(
                changes.split(separator: "\n").first { $0.hasPrefix("| the \(what) | ") })
            let number = row.dropFirst("| the \(what) | ".count).prefix { $0.isNumber }
            #expect(version.output.contains("\(what) \(number)"), "\(version.output)")
        }
    }

    @Test("Several archives are printed under their names, and a bad one does not hide the next")
    func severalInCommandLine() async throws {
        let alone = try await distant("dump", teams)
        let bad = try garbage()
        let outcome = try await distant("dump", teams, bad, teams)
        #expect(outcome.status == 1)
        #expect(outcome.output == "==> \(teams) <==\n\(alone.output)\n==> \(teams) <==\n\(alone.output)")
        #expect(outcome.errors == "distant: \(bad): not an archive, or of a version this library does not know\n")
        let (json, both) = (
            try await distant("dump", "--json", teams), try await distant("dump", "--json", teams, teams)
        )
        #expect(both.status == 0 && both.output == json.output + json.output)
    }

    @Test("A quiet check says only what is wrong")
    func quietInCommandLine() async throws {
        let good = try await distant("check", "--quiet", teams)
        #expect(good.status == 0 && good.output.isEmpty && good.errors.isEmpty)
        let bad = try garbage()
        let outcome = try await distant("check", "--quiet", teams, bad)
        #expect(
            outcome.status == 1
                && outcome.output == "\(bad): bad: not an archive, or of a version this library does not know\n")
    }

    @Test(
        "One value is printed by its place in the tree",
        arguments: [
            ("root/players/NS.objects/0/age", "30\n", "{\"int\":\"30\"}\n"), ("#3/age", "30\n", "{\"int\":\"30\"}\n"),
            ("kinds/map/y", "false\n", "{\"bool\":false}\n"),
            ("root/players/NS.objects/1", "nil\n", "null\n"),
        ])
    func place(place: String, tree: String, json: String) async throws {
        let shown = try await distant("dump", "--at", place, teams)
        #expect(shown.status == 0 && shown.output == tree, "\(shown)")
        let exact = try await distant("dump", "--at", place, "--json", teams)
        #expect(exact.status == 0 && exact.output == json, "\(exact)")
    }

    @Test("An object is printed with what is below it")
    func object() async throws {
        let outcome = try await distant("dump", "--at", "root/captain", teams)
        #expect(outcome.status == 0)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.first == "Foo #3" && lines.dropFirst().allSatisfy { $0.hasPrefix("  ") }, "\(outcome.output)")
        #expect(lines.contains("  age: 30"), "\(outcome.output)")
    }

    @Test("A value of a NIBArchive is printed, and a typedstream has no places")
    func othersInCommandLine() async throws {
        for archive in try Fixtures.nibArchives().prefix(3) {
            let path = try Fixtures.write([archive], into: scratch.path)[0]
            let outcome = try await distant("dump", "--at", "#0", path)
            #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(archive.name): \(outcome.errors)")
        }
        let path = try Fixtures.write([try #require(try Fixtures.typedstreams().first)], into: scratch.path)[0]
        let outcome = try await distant("dump", "--at", "#0", path)
        #expect(outcome.status == 1)
        #expect(outcome.errors == "distant: \(path): a typedstream has no keys, so --at leads nowhere in it\n")
    }

    @Test("A key with a slash is found")
    func slash() async throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let inner = graph.add(className: "Inner", fields: [("b", .integer(1)), ("b/c", .integer(2))])
        graph.setRoot(.reference(inner), forKey: "a/b")
        graph.setRoot(.string("short"), forKey: "a")
        let path = scratch.path("slash")
        try Data(graph.bytes(format: .binary)).write(to: URL(fileURLWithPath: path))
        for (place, value) in [("a", "\"short\"\n"), ("a/b/b", "1\n"), ("a/b/b/c", "2\n")] {
            #expect(try await distant("dump", "--at", place, path).output == value)
        }
    }

    @Test(
        "A place that does not exist is an error that says what is there",
        arguments: [
            ("roof", "there is no roof in the archive, which has root, kinds"),
            ("root/captain/size", "there is no size in root/captain, which has name, age, $odd"),
            ("root/captain/age/x", "there is no x in root/captain/age, which has nothing below it"),
            ("root/players/NS.objects/9", "there is no 9 in root/players/NS.objects, which has 2 elements, from 0"),
            ("#99", "there is no #99 in the archive, which has root, kinds"),
        ])
    func nowhere(place: String, sentence: String) async throws {
        let outcome = try await distant("dump", "--at", place, teams)
        #expect(outcome.status == 1 && outcome.output.isEmpty)
        #expect(outcome.errors == "distant: \(teams): \(sentence)\n")
    }

    @Test("Where a socket is meant, the error says so, and the path once")
    func socket() async throws {
        let missing = try await distant("interfaces")
        #expect(missing.status == 2)
        #expect(missing.errors == "distant: the address of a service is needed; see distant --help\n")
        let file = try await distant("interfaces", teams)
        #expect(file.status == 1 && file.errors == "distant: \(teams): the file is not a socket\n")
        let long = scratch.path(String(repeating: "x", count: 150))
        let error = try await distant("interfaces", long)
        #expect(error.status == 1 && error.errors.components(separatedBy: long).count == 2, "\(error.errors)")
    }
}
