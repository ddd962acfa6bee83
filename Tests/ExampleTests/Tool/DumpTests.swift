import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("distant dump")
struct DumpTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func write(_ bytes: some Sequence<UInt8>, _ name: String) throws -> String {
        let path = scratch.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func dump(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("distant", ["dump"] + arguments, in: scratch)
    }

    @Test(
        "A graph is printed as a tree, with numbers for shared objects and cycles",
        arguments: [ArchiveFormat.binary, .xml])
    func tree(format: ArchiveFormat) async throws {
        let path = try write(SampleArchives.teams().bytes(format: format), "teams")
        let outcome = try await dump(path)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.errors.isEmpty)
        let lines = [
            "\(format), by NSKeyedArchiver, version 100000, 11 objects",
            "root: Team #7",
            "  players: NSMutableArray #5",
            "    NS.objects: 2 elements",
            "      0: Foo #3",
            "        name: \"Alex \\\"the\\n\\u{1b}[31mgreat\u{1F600}\"",
            "        $odd: true",
            "      1: nil",
            "  rival: Team",
            "    players: NSMutableArray #5, above",
            "    rival: Team #7, a cycle",
            "  captain: Foo #3, above",
            "  b: -9223372036854775808",
            "  date: 2001-01-01T00:00:00Z + 0.5 s",
            "  data: <00abff> (3 bytes)",
            "    y: false",
            "  Team: NSObject (2)",
            "  Kinds: NSObject, version 3 (1)",
        ]
        let said = Set(outcome.output.split(separator: "\n").map(String.init))
        for line in lines { #expect(said.contains(line), "\(line) is not in \(outcome.output)") }
    }

    @Test("JSON has every value exact, keys unescaped and sorted", arguments: [ArchiveFormat.binary, .xml])
    func jsonInDump(format: ArchiveFormat) async throws {
        let outcome = try await dump("--json", write(SampleArchives.teams().bytes(format: format), "teams"))
        #expect(outcome.status == 0, "\(outcome.errors)")
        let parts = [
            #"{"archiver":"NSKeyedArchiver","version":100000,"top":{"kinds":{"ref":10},"root":{"ref":7}},"objects":["#,
            #"{"string":"Alex \"the\n\u001b[31mgreat😀"}"#,
            #"{"class":"Foo","classes":["Foo","NSObject"],"keys":[["$odd",{"bool":true}],["age",{"int":"30"}],["name","#
                + #"{"ref":1}]]}"#,
            #"{"classRecord":"NSMutableArray","classes":["NSMutableArray","NSArray","NSObject"]}"#,
            #"["a",{"int":"18446744073709551615"}],["b",{"int":"-9223372036854775808"}],["data",{"data":"00abff"}],"#
                + #"["date",{"date":"3fe0000000000000"}],"#,
            #"["map",{"dict":[["x",{"array":[{"string":"in line"}]}],["y",{"bool":false}]]}],["none",null],"#,
            #"["é",{"int":"170141183460469231731687303715884105727"}]]}"#,
        ]
        for part in parts { #expect(outcome.output.contains(part), "\(part) is not in \(outcome.output)") }
        if format == .binary {
            // XML has reals of one width only, and one NaN.
            #expect(outcome.output.contains(#"["double",{"real":"7ff8000000000001","width":8}]"#))
            #expect(outcome.output.contains(#"["z",{"real":"3ff8000000000000","width":4}]"#))
        }
        #expect(outcome.output.contains("\nnull,\n"))
        _ = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    }

    @Test("Compact archives are dumped, with the values that only they have")
    func compactInDump() async throws {
        let path = try write(SampleArchives.compact(), "compact")
        let tree = try await dump(path)
        #expect(tree.status == 0, "\(tree.errors)")
        for line in [
            "compact, 1 object\n", "  next: Node #0, a cycle\n", "    x: 1\n", "  5: 1 entry\n    7: \"seven\"\n",
            "  Node, version 2 (1)\n",
        ] {
            #expect(tree.output.contains(line), "\(line) is not in \(tree.output)")
        }
        let json = try await dump("--json", path)
        #expect(json.status == 0, "\(json.errors)")
        let expected = """
            {"archiver":null,"version":0,"top":{"root":{"ref":0},"values":{"array":[{"some":null},{"set":[{"int":"1"}]},\
            {"url":"a","base":"http://b/"},{"decimal":"125","exponent":-1},\
            {"type":"Point","keys":[["x",{"int":"1"}],["y",{"int":"2"}]]},\
            {"dict":[[{"int":"7"},{"string":"seven"}]]},{"int":"340282366920938463463374607431768211455"}]}},"objects":[
            {"class":"Node","keys":[["name",{"string":"one"}],["next",{"ref":0}]]}
            ]}

            """
        #expect(json.output == expected)
    }

    @Test("Dates of Foundation's class are shown as dates")
    func dates() async throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let date = graph.add(className: "NSDate", fields: [("NS.time", .double(bits: (86_400.5).bitPattern))])
        let odd = graph.add(className: "NSDate", fields: [("NS.time", .string("soon"))])
        graph.setRoot(.reference(date), forKey: "root")
        graph.setRoot(.reference(odd), forKey: "odd")
        let outcome = try await dump(write(graph.bytes(format: .binary), "dates"))
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("root: NSDate 2001-01-02T00:00:00Z + 0.5 s\n"), "\(outcome.output)")
        #expect(outcome.output.contains("    NS.time: \"soon\"\n") || outcome.output.contains("  NS.time: \"soon\"\n"))
        #expect(outcome.output.contains("  NSDate: NSObject (2)\n"), "\(outcome.output)")
    }

    @Test("A chain of any length prints, and deep objects are printed as separate trees")
    func chainInDump() async throws {
        #if DEBUG
            let count = 50_000
        #else
            let count = 1_000_000
        #endif
        let path = try write(SampleArchives.chain(count).bytes(format: .binary), "chain")
        let tree = try await dump(path)
        #expect(tree.status == 0, "\(tree.errors)")
        #expect(tree.output.utf8.count < 120 * count)
        // Comparing characters would take long in a text of this size.
        let end = String(decoding: tree.output.utf8.suffix(100), as: UTF8.self)
        #expect(
            end.contains(" n: 0\n") && end.hasSuffix(" next: nil\n\nclasses:\n  Node: NSObject (\(count))\n"), "\(end)")
        let json = try await dump("--json", path)
        #expect(json.status == 0, "\(json.errors)")
        #expect(json.output.utf8.count { $0 == UInt8(ascii: "\n") } == count + 4)
    }

    @Test("Output that would grow exponentially is limited, and reported")
    func sharingInDump() async throws {
        let bomb = try write(SampleArchives.shared(levels: 40), "bomb")
        let json = try await Program.run(
            "distant", ["convert", "--to", "json", bomb, scratch.path("out")], in: scratch)
        #expect(json.status == 1)
        #expect(json.errors.hasPrefix("distant: \(bomb): "))
        #expect(json.errors.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: scratch.path("out")))
        let tree = try await dump(bomb)
        #expect(tree.status == 0)
        #expect(
            tree.output.contains("1: 2 elements &1, above") || tree.output.contains("1: &1, above"), "\(tree.output)")
        let small = try await dump("--json", write(SampleArchives.shared(levels: 3), "small"))
        #expect(small.status == 0)
        #expect(small.output.split(separator: "leaf").count == 9)
    }
}
