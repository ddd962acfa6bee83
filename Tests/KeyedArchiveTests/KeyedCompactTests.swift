import ArchiveFixtures
import Foundation
import Testing

@testable import KeyedArchive

@Suite("Apple's layout in the compact format")
struct KeyedCompactTests {
    /// A graph with everything that only Apple's layout has.
    private static func sample(archiver: String = "NSKeyedArchiver") throws -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: archiver)
        let name = try graph.add(.value(.string("Juliana")))
        let broken = try graph.add(.value(.brokenString([0xD800, 0x61])))
        let foo = graph.add(
            className: "Foo", version: 3, superclasses: ["Base", "NSObject"],
            fields: [("name", .reference(name)), ("age", .integer(7)), ("$odd", .reference(broken))])
        let list = graph.add(
            className: "NSMutableArray", superclasses: ["NSArray", "NSObject"],
            fields: [("NS.objects", .list([.reference(foo), .reference(0), .reference(foo)]))])
        _ = try graph.add(
            .classRecord(
                ArchivedClass(name: "", classes: nil, hints: ["NSArray"], others: [.init(.string("x"), .bool(true))])))
        _ = try graph.add(
            .value(.map([.init(.string("d"), .date(bits: 5)), .init(.string("e"), .list([.float(bits: 1)]))])))
        graph.setRoot(.reference(list), forKey: "root")
        graph.setRoot(.data(Data([1, 2])), forKey: "$archiver")
        return graph
    }

    @Test("Conversion both ways loses nothing", arguments: ["NSKeyedArchiver", "NSArchiver"])
    func roundTripInKeyedCompact(archiver: String) throws {
        let graph = try Self.sample(archiver: archiver)
        let compact = try graph.bytes(format: .compact)
        let back = try ArchivedGraph(compact, anyArchiver: true)
        #expect(back == graph)
        for format in [ArchiveFormat.binary, .xml] {
            let direct = try ArchivedGraph(graph.bytes(format: format), anyArchiver: true)
            #expect(try ArchivedGraph(back.bytes(format: format), anyArchiver: true) == direct)
        }
    }

    @Test("An object with more keys than a shape can have, and lists that occur several times, round-trip")
    func manyKeysAndShared() throws {
        var limits = ArchiveLimits()
        limits.keys = 4
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let big = graph.add(className: "Big", fields: (0..<6).map { ("key\($0)", .integer(Int64($0))) })
        graph.setRoot(.reference(big), forKey: "root")
        #expect(try ArchivedGraph(graph.bytes(format: .compact, limits: limits)) == graph)

        let text = """
            <plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>
            <key>$objects</key><array><string>$null</string>\(String(repeating: "<array>", count: 300))<integer>8</integer>\(
                String(repeating: "</array>", count: 300))</array>
            <key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict></dict></plist>
            """
        let deep = try ArchivedGraph(Array(text.utf8))
        let back = try ArchivedGraph(deep.bytes(format: .compact))
        #expect(back.objects.count == deep.objects.count + deep.sharedValues.count)
        #expect(try ArchivedGraph(back.bytes(format: .binary)) == back)
    }

    @Test("Objects open like those of the property list, mutable arrays included")
    func opens() throws {
        let compact = try Self.sample().bytes(format: .compact)
        let unarchiver = try KeyedUnarchiver(compact)
        #expect(unarchiver.format == .compact)
        #expect(unarchiver.keys == ["root", "$archiver"])
        let foos = try unarchiver.decode([Foo?].self, forKey: "root")
        #expect(foos[0] === foos[2] && foos[1] == nil)
        #expect(foos[0]?.name == "Juliana" && foos[0]?.age == 7)
        #expect(try unarchiver.decode(Data.self, forKey: "$archiver") == Data([1, 2]))
    }

    @Test("A sequential archive is distinguished from one with keys")
    func sequentialInKeyedCompact() throws {
        let compact = try Self.sample(archiver: "NSArchiver").bytes(format: .compact)
        for open in [{ _ = try ArchivedGraph(compact) }, { _ = try KeyedUnarchiver(compact) }] as [() throws -> Void] {
            let error = #expect(throws: ArchiveError.self) { try open() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("sequential") == true)
        }
    }

    @Test("Invalid content is a thrown error")
    func refusedInKeyedCompact() throws {
        let top = Shape(
            name: "", version: 0, kind: .record, layout: .keyed, keys: ["$archiver", "$version", "$top"])
        let empty = Shape(name: "", version: 0, kind: .record, layout: .keyed, keys: [])
        let values = [Tag.record, 0, 0] + HandMade.text("NSKeyedArchiver") + [5, Tag.record, 1, 0]
        func shape(_ layout: Shape.Layout, _ keys: [String]) -> Shape {
            Shape(name: "X", version: 0, kind: .object, layout: layout, keys: keys)
        }
        let instance = shape(.keyed, ["$class"])
        let cases: [(Shape, [[UInt8]])] = [
            (instance, [[2, 0, Tag.reference, 0]]), (instance, [[2, 0, 5]]), (instance, [[2, 0, Tag.reference, 9]]),
            (shape(.keyed, []), [[2, 0]]), (shape(.keyed, ["age"]), [[2, 0, 5]]),
            (shape(.keyed, ["$classname"]), [[2, 0, 5]]), (shape(.explicit, []), [[2, 0, 0]]),
            (shape(.explicit, []), [[2, 0, 1, 0x86] + Array("$class".utf8) + [5]]),
        ]
        for (shape, objects) in cases {
            let bytes = HandMade.compact([top, empty, shape], values: values, objects: objects)
            #expect(throws: ArchiveError.self) { try ArchivedGraph(bytes) }
            #expect(throws: ArchiveError.self) { try KeyedUnarchiver(bytes) }
        }
        let good = HandMade.compact([top, empty, shape(.single, [])], values: values, objects: [[2, 0, 5]])
        #expect(try ArchivedGraph(good).objects[0].plainValue == .integer(5))
        // An incomplete header.
        let half = Shape(name: "", version: 0, kind: .record, layout: .keyed, keys: ["$archiver"])
        let bytes = HandMade.compact([half], values: [Tag.record, 0, 0] + HandMade.text("x"))
        #expect(throws: ArchiveError.self) { try ArchivedGraph(bytes, anyArchiver: true) }
    }

    @Test("Real archives round-trip through the compact format")
    func realInKeyedCompact() throws {
        var count = 0
        for archive in try Fixtures.real() {
            let row = archive.name
            let graph = try ArchivedGraph(archive.bytes, anyArchiver: true)
            let back = try ArchivedGraph(graph.bytes(format: .compact), anyArchiver: true)
            if graph.sharedValues.isEmpty {
                #expect(back == graph, "\(row)")
            } else {
                #expect(back.objects.count == graph.objects.count + graph.sharedValues.count, "\(row)")
            }
            count += 1
        }
        #expect(Fixtures.isCount(count, ofOthers: 144, own: 100))
    }
}
