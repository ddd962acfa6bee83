import ArchiveFixtures
import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("distant with typedstreams")
struct TypedStreamToolTests {
    private typealias Bytes = TypedStreamBytes

    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func run(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run("distant", arguments, in: scratch)
    }

    private func write(_ bytes: [UInt8], _ name: String = "a.ts") throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: scratch.path(name)))
        return scratch.path(name)
    }

    private static let mixed = Bytes.file(
        Bytes.new("@"), Bytes.object("NSArray"), Bytes.new("i"), [3],
        Bytes.reference(0), [0x84, 0x84], Bytes.new("NSString"), [1, 0x84], Bytes.new("NSObject"), [0], Bytes.null,
        Bytes.new("+"), Bytes.text("Hello"), Bytes.end,
        Bytes.reference(0), [0x84, 0x84], Bytes.new("NSNumber"), [0], Bytes.reference(4),
        Bytes.new("*"), [0x84], Bytes.reference(2), Bytes.reference(2), [5], Bytes.end,
        Bytes.reference(0), Bytes.object("Shape", version: 505),
        Bytes.new("{_NSPoint=ff}"), [1, 0x83, 0, 0, 0, 0x3F], Bytes.new("[3i]@:"), [1, 2, 3], Bytes.reference(0),
        Bytes.null, Bytes.new("[6c]@"), Array("MM\u{0}*ab".utf8), Bytes.reference(2), Bytes.end, Bytes.end)

    @Test("check says what a typedstream is, in numbers, or what is wrong and where")
    func checkInTypedStreamTool() async throws {
        let good = try write(Self.mixed)
        let bad = try write(Array(Self.mixed.dropLast()), "b.ts")
        let outcome = try await run(["check", good, bad])
        #expect(outcome.status == 1)
        #expect(
            outcome.output == """
                \(good): good: typedstream, little-endian, system 1000, 4 objects, 5 classes, 1 C string, 1 group
                \(bad): bad: behind $3 of NSArray #0: expected a type string or the end of an object, found the end, \
                at byte \(Self.mixed.count - 1)

                """)
    }

    @Test("dump shows groups with their types, strings and numbers on a line, and shared objects once")
    func dump() async throws {
        let outcome = try await run(["dump", try write(Self.mixed)])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(
            outcome.output == """
                typedstream, little-endian, system 1000, 4 objects, 5 classes, 1 C string, 1 group

                @: NSArray #0
                  i: 3
                  @: NSString "Hello"
                  @: NSNumber 5 (i)
                  @: Shape
                    {_NSPoint=ff}: {1.0, 0.5}
                    [3i]@:: [1, 2, 3], NSArray #0, above, nil
                    [6c]@: <4d4d002a6162> (6 bytes), a picture (TIFF), NSString "Hello"

                classes:
                  NSArray 0 (1)
                  NSString 1: NSObject 0 (1)
                  NSNumber 0: NSObject 0 (1)
                  Shape 505 (1)

                """)
    }

    @Test("dump shows the objects of an old nib below their parents with class versions, and its connections")
    func nib() async throws {
        // Labels: 0 the data and 1 its class, 2 the owner and 3 its class, 4 a view and 5 its class, 6 another view, 7 a name
        // and its classes 8 and 9, 10 a connector and its class 11, 12 a label.
        let bytes = Bytes.file(
            Bytes.new("@"), Bytes.object("NSIBObjectData", version: 224),
            Bytes.reference(0), Bytes.object("NSCustomObject", version: 41), Bytes.end,
            Bytes.new("i"), [2], Bytes.new("@@"), Bytes.object("NSView", version: 41), Bytes.end, [0x84],
            Bytes.reference(5), Bytes.end, Bytes.reference(4), Bytes.reference(6), Bytes.reference(2),
            Bytes.reference(3), [1], Bytes.reference(4), Bytes.reference(4), [0x84, 0x84], Bytes.new("NSString"),
            [1, 0x84], Bytes.new("NSObject"), [0], Bytes.null, Bytes.new("+"), Bytes.text("Window"), Bytes.end,
            Bytes.reference(0), Bytes.object("NSNibOutletConnector", version: 207), Bytes.new("@@@"),
            Bytes.reference(2),
            Bytes.reference(4), [0x84], Bytes.reference(8), Bytes.reference(8), Bytes.text("view"), Bytes.end,
            Bytes.end,
            Bytes.end)
        let outcome = try await run(["dump", try write(bytes)])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(
            outcome.output.hasSuffix(
                """
                  NSNibOutletConnector 207 (1)

                objects of the nib, below their parents:
                  NSCustomObject 41 #2
                    NSView 41 #6
                      NSView 41 #4 "Window"

                connections of the nib:
                  NSCustomObject #2 --"view"--> NSView #4

                """), "\(outcome.output)")
    }

    @Test("dump opens typedstreams inside of data, and old property lists that are strings")
    func nestedInTypedStreamTool() async throws {
        let inner = Bytes.file(Bytes.new("@"), Bytes.object("B"), Bytes.new("i"), [7], Bytes.end)
        let name: [UInt8] = [6, 0, 0, 0, 6, 0, 0, 0, 0xFE, 0xFF, 0, 0x48, 0, 0x69, 0, 0]
        let bytes = Bytes.file(
            Bytes.new("@"), Bytes.object("A"), Bytes.new("[\(inner.count)c]"), inner, Bytes.new("[16c]"), name,
            Bytes.reference(0), Bytes.object("NSData"), Bytes.new("i"), [UInt8(inner.count)], Bytes.reference(2), inner,
            Bytes.end, Bytes.end)
        let outcome = try await run(["dump", try write(bytes)])
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(outcome.status == 0 && lines.count > 10, "\(outcome.errors)")
        #expect(lines[3].hasSuffix("(\(inner.count) bytes), a typedstream"), "\(outcome.output)")
        #expect(lines[4...5] == ["    @: B", "      i: 7"], "\(outcome.output)")
        #expect(lines[6].hasSuffix("(16 bytes), an old property list: \"Hi\""), "\(outcome.output)")
        #expect(lines[7].hasPrefix("  @: NSData <") && lines[7].hasSuffix(", a typedstream"), "\(outcome.output)")
        #expect(lines[8...9] == ["    @: B", "      i: 7"], "\(outcome.output)")
    }

    @Test("dump opens a keyed archive inside of data")
    func nestedKeyed() async throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let inner = graph.add(className: "Inner", fields: [("n", .integer(7))])
        graph.setRoot(.reference(inner), forKey: "root")
        let keyed = try graph.bytes(format: .binary)
        let bytes = Bytes.file(
            Bytes.new("@"), Bytes.object("NSData"), Bytes.new("i"), Bytes.number(keyed.count),
            Bytes.new("[\(keyed.count)c]"), keyed, Bytes.end)
        let outcome = try await run(["dump", try write(bytes)])
        #expect(
            outcome.output.contains(", a binary property list\n  root: Inner\n    n: 7\n\nclasses:\n  NSData 0 (1)\n"),
            "\(outcome.output)")
    }

    @Test("dump shows the first numbers of a long array")
    func longArray() async throws {
        let bytes = Bytes.file(Bytes.new("[1000i]i"), [UInt8](repeating: 7, count: 1001))
        let outcome = try await run(["dump", try write(bytes)])
        #expect(outcome.output.contains("\n[1000i]i: [7, 7, "), "\(outcome.output)")
        #expect(outcome.output.contains(", 7, … (1000 elements)], 7\n"), "\(outcome.output)")
        #expect(outcome.output.utf8.count < 400)
    }

    @Test("check names files that are no archives of these kinds")
    func neighbours() async throws {
        for (beginning, name) in [
            ("GNUstep archive00002ee5:", "an archive of GNUstep's own NSArchiver"),
            ("SQLite format 3\u{0}", "an SQLite database"),
            ("book\u{0}\u{0}\u{0}\u{0}mark", "bookmark data"), ("\u{3}\u{B}typedstream", "a typedstream of version 3"),
            ("PK\u{3}\u{4}", "a ZIP file"), ("{\\rtf1", "a document in RTF"),
        ] {
            let outcome = try await run(["check", try write(Array(beginning.utf8))])
            #expect(outcome.status == 1 && outcome.output.contains(": bad: \(name)"), "\(outcome.output)")
        }
    }

    @Test("A chain of thirty thousand objects is shown in parts, and becomes JSON and the same bytes again")
    func deepInTypedStreamTool() async throws {
        let count = Sanitizer.isAddress ? 3_000 : 30_000
        let bytes =
            Bytes.file(Bytes.new("@"), Bytes.object("A"))
            + [UInt8](repeatElement(Bytes.reference(0) + [0x84] + Bytes.reference(1), count: count).joined())
            + [UInt8](repeating: 0x86, count: count + 1)
        let path = try write(bytes)
        let tree = try await run(["dump", path])
        #expect(tree.status == 0 && tree.output.contains("@: A #25, below\n"))
        try await expectRoundTrip(path, bytes)
    }

    /// Expects that the file becomes the same bytes again, as it is and by way of JSON and property lists.
    private func expectRoundTrip(_ path: String, _ bytes: [UInt8]) async throws {
        let back = scratch.path("back.ts")
        // A typedstream is what the tool has opened of each of these, so XML that is made of a binary property list is
        // the XML that is made of the file itself.
        for way in [["typedstream"], ["json", "typedstream"], ["binary", "xml", "typedstream"]] {
            var from = path
            for target in way {
                let to = target == way.last ? back : scratch.path("x.\(target)")
                let outcome = try await run(["convert", "--to", target, from, to])
                #expect(outcome.status == 0, "\(path) to \(target): \(outcome.errors)")
                from = to
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: back)) == Data(bytes), "\(path) by way of \(way)")
        }
    }

    @Test("A typedstream as a property list has its tree, and opens like the typedstream")
    func propertyListInTypedStreamTool() async throws {
        let bytes = Bytes.file(
            Bytes.new("@+"), Bytes.object("A"), Bytes.new("[3c]f"), [1, 2, 3, 0x83, 0, 0, 0, 0x3F], Bytes.new("d+:"),
            [5],
            Bytes.null, Bytes.null, Bytes.end, Bytes.text("\u{1B}"))
        let (typed, xml) = (try write(bytes), scratch.path("a.xml"))
        #expect(try await run(["convert", "--to", "xml", typed, xml]).status == 0)
        let list = try PropertyListSerialization.propertyList(
            from: Data(contentsOf: URL(fileURLWithPath: xml)), format: nil)
        let tree = try #require(list as? [String: Any])
        #expect(tree.keys.sorted() == ["groups", "labels", "order", "system", "version"])
        let labels = try #require(tree["labels"] as? [[String: [String: Any]]])
        let groups = try #require(labels[0]["object"]?["groups"] as? [[String: Any]])
        #expect(groups.map { $0["types"] as? [String] } == [["[3c]", "f"], ["d", "+", ":"]])
        let values = try #require(groups[0]["values"] as? [[String: Any]])
        #expect(values[0]["bytes"] as? Data == Data([1, 2, 3]) && values[1]["f"] as? Double == 0.5)
        let others = try #require(groups[1]["values"] as? [[String: Any]])
        #expect(others[0]["d"] as? Double == 5 && others[1].isEmpty)
        #expect(labels[1]["class"]?["name"] as? String == "A")
        let (tree1, tree2) = (try await run(["dump", typed]), try await run(["dump", xml]))
        #expect(
            tree2.output
                == tree1.output.replacingOccurrences(of: "typedstream,", with: "typedstream as a property list (xml),"))
        #expect(try await run(["check", xml]).output.contains("good: typedstream as a property list (xml), little"))
        #expect(try await run(["dump", "--json", typed]).output == run(["dump", "--json", xml]).output)
    }

    @Test("A property list of a typedstream that was changed by hand is read, or refused with the place")
    func changedPropertyList() async throws {
        let (typed, xml) = (try write(Self.mixed), scratch.path("a.xml"))
        #expect(try await run(["convert", "--to", "xml", typed, xml]).status == 0)
        let text = try String(contentsOfFile: xml, encoding: .utf8)
        for (old, new, reason) in [
            ("<integer>505</integer>", "<integer>506</integer>", nil),
            ("<real width=\"4\">0.5</real>", "<real>0.25</real>", nil),
            ("<string>Hello</string>", "<string>Hello, you</string>", nil),
            ("<string>Hello</string>", "<date>2001-01-01T00:00:00Z</date>", "a date or a reference"),
            ("<string>Hello</string>", "<true/>", "expected a text, at labels[2].object.groups[0].values[0]"),
            ("<key>labels</key>", "<key>label</key>", "a property list, but not a keyed archive"),
            ("<string>little</string>", "<string>middle</string>", "expected the order “big” or “little”"),
            ("<key>of</key>", "<key>on</key>", "once each, found \"on\""),
        ] {
            let changed = try write(Array(text.replacingOccurrences(of: old, with: new).utf8), "b.xml")
            #expect(text.contains(old), "\(old)")
            let outcome = try await run(["convert", "--to", "typedstream", changed, scratch.path("b.ts")])
            #expect(outcome.status == (reason == nil ? 0 : 1), "\(new): \(outcome.errors)")
            if let reason { #expect(outcome.errors.contains(reason), "\(new): \(outcome.errors)") }
        }
    }

    @Test("A property list that has an array in two places is refused: a few could stand for millions of values")
    func sharedContainers() async throws {
        for isXML in [false, true] {
            var builder = PlainPropertyListBuilder(limits: ArchiveLimits())
            let (groups, labels) = (try builder.string(Array("groups".utf8)), try builder.string(Array("labels".utf8)))
            let list = try builder.array([groups])
            let top = try builder.dictionary(inTurn: [groups, list, labels, list])
            var bytes: [UInt8] = []
            try builder.finish(top: top, isXML: isXML) { bytes += $0 }
            let outcome = try await run(["check", try write(bytes, "shared.plist")])
            // XML has each of them in full.
            let reason = isXML ? "expected the JSON of a typedstream" : "an array or dictionary in two places"
            #expect(outcome.status == 1 && outcome.output.contains(reason), "\(outcome.output)")
        }
    }

    @Test("A form in the JSON that stands for another number or string than the one beside it is refused")
    func wrongForms() async throws {
        // Its numbers: the system's version, the length of the type string, 5, 7.0, and the length of a text.
        let values = "\"groups\":[{\"types\":[\"s\",\"f\",\"+\"],\"values\":[5,{\"f\":\"40e00000\"},{\"+\":\"ab\"}]}]"
        for (forms, isRight) in [
            ("\"numbers\":[[2,2,5]]", true), ("\"numbers\":[[2,8,65541]]", true), ("\"numbers\":[[2,4,6]]", false),
            ("\"numbers\":[[2,1,300]]", false), ("\"numbers\":[[2]]", false), ("\"numbers\":[[3]]", true),
            ("\"numbers\":[[3,4,7]]", true), ("\"numbers\":[[3,4,8]]", false), ("\"numbers\":[[4,2,2]]", true),
            ("\"numbers\":[[4,2,3]]", false), ("\"numbers\":[[0,8,1000]]", true), ("\"numbers\":[[0,8,1001]]", false),
            ("\"strings\":[[0,0]]", true), ("\"strings\":[[0,3]]", false),
        ] {
            let text = "{\"version\":4,\"order\":\"big\",\"system\":1000,\(forms),\(values),\"labels\":[]}"
            let json = try write(Array(text.utf8), "forms.json")
            let outcome = try await run(["convert", "--to", "typedstream", json, scratch.path("other")])
            #expect(outcome.status == (isRight ? 0 : 1), "\(forms): \(outcome.errors)")
            #expect(isRight || outcome.errors.contains(" is not "), "\(forms): \(outcome.errors)")
            guard isRight else { continue }
            // What was made has these values.
            let back = try await run(["dump", "--json", scratch.path("other")])
            #expect(back.output.contains("[5,{\"f\":\"40e00000\"},{\"+\":\"ab\"}]"), "\(forms): \(back.output)")
        }
    }

    @Test("Each typedstream is good, prints as a tree, and becomes the same bytes by way of JSON and property lists")
    func roundTripsInTypedStreamTool() async throws {
        let archives = try Fixtures.typedstreams()
        let check = try await run(["check"] + Fixtures.write(archives, into: scratch.path("good")))
        let verdicts = check.output.split(separator: "\n")
        #expect(check.status == 0 && verdicts.count == archives.count, "\(check.output)")
        #expect(verdicts.allSatisfy { $0.contains(": good: typedstream, ") })
        // With the address sanitizer each run of the tool takes a second.
        for (index, archive) in archives.enumerated() where !Sanitizer.isAddress || index % 8 == 0 {
            let path = scratch.path("good/\(archive.name)")
            let tree = try await run(["dump", path])
            #expect(tree.status == 0 && tree.errors.isEmpty, "\(archive.name): \(tree.errors)")
            try await expectRoundTrip(path, archive.bytes)
        }
    }

    @Test("Broken typedstreams are bad, with the byte where they break")
    func brokenInTypedStreamTool() async throws {
        let paths = try Fixtures.write(Fixtures.brokenTypedstreams(), into: scratch.path("broken"))
        let outcome = try await run(["check"] + paths)
        #expect(outcome.status == 1)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == paths.count && lines.allSatisfy { $0.contains(": bad: ") }, "\(outcome.output)")
    }

    @Test("What is not a typedstream does not become one, and a typedstream becomes no keyed archive")
    func refusalsInTypedStreamTool() async throws {
        let typed = try write(Self.mixed)
        let keyed = try write(Fixtures.real()[0].bytes, "k.plist")
        let json = try write(
            Array("{\"version\":4,\"order\":\"little\",\"system\":1,\"groups\":[1],\"labels\":[]}".utf8), "j.json")
        let other = scratch.path("other")
        for (format, path, reason) in [
            ("compact", typed, "a typedstream becomes typedstream, binary, xml or json only"),
            ("typedstream", keyed, "only a typedstream, or the JSON or property list of one,"),
            ("typedstream", json, "expected a group, with types and values, at groups[0], byte 51 of the JSON"),
        ] {
            let outcome = try await run(["convert", "--to", format, path, other])
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: other))
    }

    @Test("Forms for numbers or strings that the JSON does not have are refused")
    func unusedForms() async throws {
        for (forms, reason) in [
            ("\"numbers\":[[99999999999]]", "a position that is not in the file"), ("\"numbers\":[[-1]]", "a position"),
            ("\"numbers\":[[3],[0]]", "a position"), ("\"strings\":[[9,0]]", "a position"),
            ("\"strings\":[[0,-5]]", "expected a position and a number"),
        ] {
            let text = "{\"version\":4,\"order\":\"little\",\"system\":1000,\(forms),"
            let json = try write(
                Array((text + "\"groups\":[{\"types\":[\"i\"],\"values\":[5]}],\"labels\":[]}").utf8), "forms.json")
            let outcome = try await run(["convert", "--to", "typedstream", json, scratch.path("other")])
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(forms): \(outcome.errors)")
        }
    }
}
