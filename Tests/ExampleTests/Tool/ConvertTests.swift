import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("distant convert and distant check")
struct ConvertTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func write(_ bytes: some Sequence<UInt8>, _ name: String) throws -> String {
        let path = scratch.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func distant(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("distant", arguments, in: scratch)
    }

    @Test("Binary and XML archives convert to each other with the same graph")
    func binaryAndXML() async throws {
        let graph = try SampleArchives.teams()
        let binary = try write(graph.bytes(format: .binary), "a.archive")
        let xml = scratch.path("b.xml")
        let again = scratch.path("c.archive")
        let there = try await distant("convert", "--to", "xml", binary, xml)
        #expect(there.status == 0 && there.output.isEmpty && there.errors.isEmpty, "\(there.errors)")
        let back = try await distant("convert", xml, again, "--to", "binary")
        #expect(back.status == 0, "\(back.errors)")
        #expect(try String(contentsOfFile: xml, encoding: .utf8).hasPrefix("<?xml"))
        let data = try Data(contentsOf: URL(fileURLWithPath: again))
        #expect(ArchiveFormat(detecting: data) == .binary)
        #expect(try ArchivedGraph(data).objects.count == graph.objects.count)
    }

    @Test("A converted archive opens in the program that wrote it", arguments: ["binary", "xml", "compact"])
    func crossingInConvert(written: String) async throws {
        let path = scratch.path("state")
        let first = try await Program.run("AppState", ["--format", written, path], in: scratch)
        try #require(first.status == 0, "\(first.errors)")
        for target in ["binary", "xml", "compact"] {
            let other = scratch.path(target)
            let convert = try await distant("convert", "--to", target, path, other)
            #expect(convert.status == 0, "\(written) to \(target): \(convert.errors)")
            let check = try await distant("check", other)
            #expect(check.output.hasPrefix("\(other): good: \(target), "), "\(check.output)")
            let second = try await Program.run("AppState", [other], in: scratch)
            #expect(second.status == 0 && second.errors.isEmpty, "\(written) to \(target): \(second.errors)")
            #expect(second.output.hasPrefix("2nd run: myfoo is James, 40; mybar has Juliana, 7; Nicolas, 3\n"))
            #expect(second.output.hasSuffix("saved in \(other), \(target)\n"))
        }
    }

    @Test("JSON equals the output of dump, and replacing a file keeps its permissions and link")
    func jsonInConvert() async throws {
        let path = try write(SampleArchives.teams().bytes(format: .binary), "a")
        let target = try write([1], "b")
        chmod(target, 0o640)
        let link = scratch.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let outcome = try await distant("convert", "--to", "json", path, link)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let dump = try await distant("dump", "--json", path)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == dump.output)
        let attributes = try FileManager.default.attributesOfItem(atPath: target)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
        let same = try await distant("convert", "--to", "xml", path, path)
        #expect(same.status == 0, "\(same.errors)")
        #expect(ArchiveFormat(detecting: try Data(contentsOf: URL(fileURLWithPath: path))) == .xml)
        // No temporary files are left.
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        #expect(Set(names.filter { !$0.hasPrefix("distant-") }) == ["a", "b", "link"])
    }

    @Test("An error leaves the old file, and its message names the file")
    func failuresInConvert() async throws {
        let good = try write(SampleArchives.compact(), "good")
        let bad = try write(Array("bplist00 and no more".utf8), "bad")
        let target = try write([7, 7, 7], "target")
        for (arguments, name) in [
            (["convert", "--to", "xml", bad, target], bad), (["dump", bad], bad), (["dump", "--json", bad], bad),
            (["convert", "--to", "json", scratch.path("none"), target], scratch.path("none")),
            (["convert", "--to", "json", good, scratch.path("no/such")], scratch.path("no/such")),
            (["dump", scratch.path], scratch.path),
            (["convert", "--to", "json", good, "/dev/full"], "/dev/full"),
        ] {
            let outcome = try await Program.run("distant", arguments, in: scratch)
            #expect(outcome.status == 1, "\(arguments)")
            #expect(outcome.errors.hasPrefix("distant: \(name): "), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data([7, 7, 7]))
        }
    }

    @Test("Check prints a line for each file")
    func checkInConvert() async throws {
        let compact = try write(SampleArchives.compact(), "compact")
        let xml = try write(SampleArchives.teams().bytes(format: .xml), "xml")
        let good = try await distant("check", compact, xml)
        #expect(good.status == 0 && good.errors.isEmpty)
        #expect(
            good.output == """
                \(compact): good: compact, 1 object
                \(xml): good: xml, by NSKeyedArchiver, version 100000, 11 objects

                """)
        let empty = try write([], "empty")
        let mixed = try await distant("check", empty, compact, scratch.path("none"))
        #expect(mixed.status == 1)
        let lines = mixed.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first == "\(empty): bad: an empty file, not an archive")
        #expect(lines.last?.hasPrefix("\(scratch.path("none")): bad: cannot be read: ") == true)
        // Each is named once.
        #expect(mixed.errors.isEmpty, "\(mixed.errors)")
    }

    @Test("A hyphen is standard input and standard output")
    func standardStreamsInConvert() async throws {
        let path = try write(SampleArchives.teams().bytes(format: .binary), "a")
        let distant = try builtProgram("distant")
        let script = #"cat "$1" | "$0" convert --to xml - - | "$0" dump --json -"#
        let piped = try await Program.run("/bin/sh", ["-c", script, distant, path], in: scratch)
        let xml = scratch.path("xml")
        #expect(try await self.distant("convert", "--to", "xml", path, xml).status == 0)
        let direct = try await self.distant("dump", "--json", xml)
        #expect(piped.status == 0 && piped.errors.isEmpty && piped.output == direct.output, "\(piped.errors)")
        #expect(!FileManager.default.fileExists(atPath: "-"))
        let closed = try await Program.run("/bin/sh", ["-c", #""$0" check - <&-"#, distant], in: scratch)
        #expect(closed.status == 1 && closed.output.hasPrefix("-: bad: cannot be read: "), "\(closed.output)")
    }

    @Test(
        "Wrong usage ends with status 2 and a message",
        arguments: [
            ([], "a command is needed"), (["look", "x"], "“look” is not a command"), (["dump"], "a file is needed"),
            (["interfaces", "a", "b"], "“b” is one word too many"),
            (["dump", "--yaml", "a"], "there is no option “--yaml”"), (["dump", "a", "--at"], "--at needs a word"),
            (["convert", "a", "b"], "convert needs --to"),
            (["convert", "--to", "png", "a", "b"], "“png” is not a format"),
            (["convert", "--to", "xml", "a"], "a file to write is needed, too"),
            (["convert", "--to"], "--to needs a word"),
            (["check"], "a file is needed"), (["check", "-x"], "there is no option “-x”"),
            (["dump", ""], "name is empty"),
        ])
    func usageInConvert(arguments: [String], sentence: String) async throws {
        let outcome = try await Program.run("distant", arguments, in: scratch)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("distant: ") && outcome.errors.contains(sentence), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("; see distant --help\n"))
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test("The tool prints help, and accepts files whose names look like options")
    func helpInConvert() async throws {
        for arguments in [["--help"], ["dump", "--help"], ["-h"]] {
            let outcome = try await Program.run("distant", arguments, in: scratch)
            #expect(outcome.status == 0 && outcome.errors.isEmpty)
            #expect(outcome.output.hasPrefix("Usage: distant dump"))
        }
        let odd = try await distant("check", "--", "--no such file")
        #expect(odd.status == 1)
        #expect(odd.output.hasPrefix("--no such file: bad: cannot be read"))
    }
}
