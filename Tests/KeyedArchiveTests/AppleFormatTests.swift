import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Objects and values in Apple's format")
struct AppleFormatTests {
    static let formats = [ArchiveFormat.binary, .xml]

    @Test("Every kind of value round-trips", arguments: formats)
    func everythingInAppleFormat(_ format: ArchiveFormat) throws {
        let value = Everything()
        #expect(try roundTrip(value, format: format) == value)
        #expect(try roundTrip([value], format: format) == [value])
    }

    /// An object whose keys hold values of all kinds, not inside `Codable` values.
    final class Holder: ObjectCoding {
        var all = Everything()
        var reals = [Double.nan, -0.0, .infinity, -.infinity, 5e300]
        var floats: [Float] = [.nan, 0.1, -.infinity]
        var wide: [Int128] = [.min, .max, 0, Int128(UInt64.max)]
        var huge: [UInt128] = [.max, 0, UInt128(Int128.max) + 1]
        var nullText = ["$null", "$", "$$null", ""]
        var pairs: [Point: [UUID]] = [Point(x: 1, y: 1): [UUID(), UUID()]]
        var uuids = [UUID(): Date(timeIntervalSinceReferenceDate: 1.25)]
        var urls = [URL(string: "http://a/"), URL(string: "b", relativeTo: URL(string: "http://a/c/")), nil]
        var decimals: [Decimal] = [.nan, 0, 12.5, -1, .greatestFiniteMagnitude, .leastNonzeroMagnitude]
        var twice: [Int??] = [nil, .some(nil), 3]
        var thrice: Int??? = .some(.some(nil))
        var data = [Data(), Data([1]), Data(repeating: 9, count: 100_000)]
        var dates = [Date.distantPast, .distantFuture]
        var list: PropertyList = .dictionary(["a": .array([.integer(1), .data(Data([1])), .date(.distantPast)])])

        init() {}

        init(coder: ObjectDecoder) throws {
            // Not in the order written.
            list = try coder.decode(PropertyList.self, forKey: "list")
            all = try coder.decode(Everything.self, forKey: "$all")
            reals = try coder.decode([Double].self, forKey: "reals")
            floats = try coder.decode([Float].self, forKey: "floats")
            wide = try coder.decode([Int128].self, forKey: "wide")
            huge = try coder.decode([UInt128].self, forKey: "huge")
            nullText = try coder.decode([String].self, forKey: "nullText")
            pairs = try coder.decode([Point: [UUID]].self, forKey: "pairs")
            uuids = try coder.decode([UUID: Date].self, forKey: "uuids")
            urls = try coder.decode([URL?].self, forKey: "urls")
            decimals = try coder.decode([Decimal].self, forKey: "decimals")
            twice = try coder.decode([Int??].self, forKey: "twice")
            thrice = try coder.decode(Int???.self, forKey: "thrice")
            data = try coder.decode([Data].self, forKey: "data")
            dates = try coder.decode([Date].self, forKey: "dates")
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(all, forKey: "$all")
            try coder.encode(reals, forKey: "reals")
            try coder.encode(floats, forKey: "floats")
            try coder.encode(wide, forKey: "wide")
            try coder.encode(huge, forKey: "huge")
            try coder.encode(nullText, forKey: "nullText")
            try coder.encode(pairs, forKey: "pairs")
            try coder.encode(uuids, forKey: "uuids")
            try coder.encode(urls, forKey: "urls")
            try coder.encode(decimals, forKey: "decimals")
            try coder.encode(twice, forKey: "twice")
            try coder.encode(thrice, forKey: "thrice")
            try coder.encode(data, forKey: "data")
            try coder.encode(dates, forKey: "dates")
            try coder.encode(list, forKey: "list")
        }
    }

    @Test("Values under an object's keys round-trip bit for bit", arguments: [ArchiveFormat.compact] + formats)
    func holderInAppleFormat(_ format: ArchiveFormat) throws {
        let holder = Holder()
        let copy = try roundTrip(holder, format: format)
        #expect(copy.all == holder.all)
        #expect(copy.reals.map(\.bitPattern) == holder.reals.map(\.bitPattern))
        #expect(copy.floats.map(\.bitPattern) == holder.floats.map(\.bitPattern))
        #expect(copy.wide == holder.wide)
        #expect(copy.huge == holder.huge)
        #expect(copy.nullText == holder.nullText)
        #expect(copy.pairs == holder.pairs)
        #expect(copy.uuids == holder.uuids)
        #expect(copy.urls == holder.urls)
        #expect(copy.decimals.dropFirst() == holder.decimals.dropFirst())
        #expect(copy.decimals[0].isNaN)
        #expect(copy.twice == holder.twice)
        #expect(copy.thrice == holder.thrice)
        #expect(copy.data == holder.data)
        #expect(copy.dates == holder.dates)
        #expect(copy.list == holder.list)
    }

    @Test("Sharing, cycles, subclasses and conditional objects survive", arguments: formats)
    func graphsInAppleFormat(_ format: ArchiveFormat) throws {
        let foo = Foo("x", 1)
        let archiver = KeyedArchiver(format: format)
        try archiver.encode([foo, Foo("x", 1), foo], forKey: "foos")
        try archiver.encode([Circle(x: 1, radius: 2), Square(x: 3), Figure(x: 4)], forKey: "figures")
        let list = Node.list(100)
        list.watched = list.next
        let unwritten = Node(7)
        list.next?.watched = unwritten
        try archiver.encode(list, forKey: "list")
        try archiver.encode(5, forKey: "$number")
        try archiver.encode(Int?.none, forKey: "nothing")
        try archiver.encodeConditional(Node(5), forKey: "never")
        let bytes = try archiver.finish()
        #expect(ArchiveFormat(detecting: bytes) == format)
        let unarchiver = try KeyedUnarchiver(bytes)
        #expect(unarchiver.format == format)
        #expect(unarchiver.keys == ["foos", "figures", "list", "$number", "nothing", "never"])
        let foos = try unarchiver.decode([Foo].self, forKey: "foos")
        #expect(foos[0] === foos[2] && foos[0] !== foos[1] && foos[1].name == "x")
        let figures = try unarchiver.decode([Figure].self, forKey: "figures")
        #expect(figures.map { "\(type(of: $0))" } == ["Circle", "Square", "Figure"])
        #expect((figures[0] as? Circle)?.radius == 2)
        let copy = try unarchiver.decode(Node.self, forKey: "list")
        #expect(copy.next?.previous === copy)
        #expect(copy.watched === copy.next)
        #expect(copy.next?.watched == nil && unwritten.value == 7)
        #expect(try unarchiver.decode(Int.self, forKey: "$number") == 5)
        #expect(try unarchiver.decodeIfPresent(Int.self, forKey: "nothing") == nil)
        #expect(try unarchiver.decodeIfPresent(Node.self, forKey: "never") == nil)
        let graph = try ArchivedGraph(bytes)
        #expect(graph.objects.first == .value(.null))
        #expect(graph.roots["never"] == .reference(0))
        copy.dismantle()
        list.dismantle()
    }

    @Test("The class records name the superclasses, and a version only if there is one")
    func classRecords() throws {
        final class Versioned: ObjectCoding {
            static var classVersion: Int { 3 }
            let seen: Int
            init() { seen = 0 }
            init(coder: ObjectDecoder) throws { seen = coder.classVersion }
            func encode(with coder: ObjectEncoder) throws {}
        }
        let archiver = KeyedArchiver(format: .binary)
        try archiver.encode(Circle(x: 1, radius: 2), forKey: "circle")
        try archiver.encode(Versioned(), forKey: "versioned")
        let bytes = try archiver.finish()
        let graph = try ArchivedGraph(bytes)
        let records = graph.objects.compactMap { if case .classRecord(let type) = $0 { type } else { nil } }
        #expect(records.map(\.name) == ["Circle", "Versioned"])
        #expect(records[0].classes == ["Circle", "Figure", "NSObject"])
        #expect(records[0].others.isEmpty)
        #expect(records[1].version == 3)
        #expect(try KeyedUnarchiver(bytes).decode(Versioned.self, forKey: "versioned").seen == 3)
    }

    @Test("A class that is only Codable is written as a value where it is used", arguments: formats)
    func plainClass(_ format: ArchiveFormat) throws {
        final class Plain: Codable {
            var name = "p"
            var point = Point(x: 1, y: 2)
            var foo = Foo("inside", 1)
            var next: Plain?
        }
        let plain = Plain()
        let copies = try roundTrip([plain, plain], format: format)
        #expect(copies.map(\.name) == ["p", "p"] && copies[0] !== copies[1])
        #expect(copies[0].foo === copies[1].foo && copies[0].foo.name == "inside")
        plain.next = plain
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(plain, format: format) }
        #expect(error?.code == .cycle)
        plain.next = nil
    }

    @Test("Codable values as Foundation's coders write them are read: strings for UUIDs, dictionaries for structures")
    func foreignForms() throws {
        struct Mixed: Codable, Equatable {
            var id: UUID
            var url: URL
            var price: Decimal
            var keys: [Int: String]
            var flag: Bool
            var real: Double
            var float: Float
            var int: Int
            var bytes: [UInt8]
        }
        let id = UUID()
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        func add(_ value: ArchivedValue) throws -> ArchivedValue { .reference(try graph.add(.value(value))) }
        func map(_ fields: [(String, ArchivedValue)], _ graph: inout ArchivedGraph) throws -> ArchivedValue {
            var keys: [ArchivedValue] = []
            for (key, _) in fields { keys.append(.reference(try graph.add(.value(.string(key))))) }
            return .reference(
                graph.add(
                    className: "NSDictionary",
                    fields: [("NS.keys", .list(keys)), ("NS.objects", .list(fields.map(\.1)))]))
        }
        let bytes = graph.add(
            className: "NSArray", fields: [("NS.objects", .list([try add(.integer(1)), try add(.integer(255))]))])
        let url = try map([("relative", try add(.string("x?y")))], &graph)
        let keys = try map([("-7", try add(.string("seven")))], &graph)
        let root = try map(
            [
                ("id", try add(.string(id.uuidString))), ("url", url), ("price", try add(.integer(12))), ("keys", keys),
                ("flag", try add(.integer(1))), ("real", try add(.integer(3))),
                ("float", try add(.double(bits: 0.1.bitPattern))), ("int", try add(.double(bits: 5.0.bitPattern))),
                ("bytes", .reference(bytes)),
            ], &graph)
        graph.setRoot(root, forKey: "root")
        for format in Self.formats {
            let value = try KeyedUnarchiver.unarchive(Mixed.self, from: graph.bytes(format: format))
            #expect(
                value
                    == Mixed(
                        id: id, url: try #require(URL(string: "x?y")), price: 12, keys: [-7: "seven"], flag: true,
                        real: 3,
                        float: 0.1, int: 5, bytes: [1, 255]))
        }
    }

    @Test("Mutable kinds and older layouts of Foundation's containers are read")
    func variants() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let text = graph.add(className: "NSMutableString", fields: [("NS.string", .string("text"))])
        let data = graph.add(className: "NSMutableData", fields: [("NS.bytes", .data(Data([1])))])
        let null = graph.add(className: "NSNull", fields: [])
        let array = graph.add(
            className: "NSMutableArray",
            fields: [("NS.object.1", .reference(null)), ("NS.object.0", .reference(text))])
        let map = graph.add(
            className: "NSMutableDictionary",
            fields: [("NS.key.0", .reference(text)), ("NS.object.0", .reference(data))])
        let set = graph.add(
            className: "NSCountedSet",
            fields: [("NS.count", .integer(1)), ("NS.object0", .reference(text)), ("NS.count0", .integer(2))])
        let date = graph.add(className: "NSDate", fields: [("NS.time", .integer(5))])
        for (key, index) in [("array", array), ("map", map), ("set", set), ("date", date)] {
            graph.setRoot(.reference(index), forKey: key)
        }
        let unarchiver = try KeyedUnarchiver(graph.bytes(format: .binary))
        #expect(try unarchiver.decode([String?].self, forKey: "array") == ["text", nil])
        #expect(try unarchiver.decode([String: Data].self, forKey: "map") == ["text": Data([1])])
        #expect(try unarchiver.decode(Set<String>.self, forKey: "set") == ["text"])
        #expect(try unarchiver.decode(Date.self, forKey: "date") == Date(timeIntervalSinceReferenceDate: 5))
    }

    @Test("Names of Swift classes with their module are understood, and renamed classes")
    func namesInAppleFormat() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let name = try graph.add(.value(.string("n")))
        let foo = graph.add(className: "Module.Foo", fields: [("name", .reference(name)), ("age", .integer(1))])
        graph.setRoot(.reference(foo), forKey: "root")
        #expect(try KeyedUnarchiver.unarchive(Foo.self, from: graph.bytes(format: .binary)).name == "n")
        var classes = ClassRegistry()
        classes.setClass(Foo.self, forName: "NSPerson")
        let other = graph.add(className: "NSPerson", fields: [("name", .reference(name)), ("age", .integer(1))])
        graph.setRoot(.reference(other), forKey: "root")
        let bytes = try graph.bytes(format: .binary)
        #expect(try KeyedUnarchiver.unarchive(Foo.self, from: bytes, classes: classes).age == 1)
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Foo.self, from: bytes) }
        #expect(error?.code == .classNotAllowed)
    }

    @Test("Containers that contain themselves, or are shared without bound, are thrown errors")
    func hostileInAppleFormat() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let loop = graph.add(className: "NSArray", fields: [("NS.objects", .list([.reference(1)]))])
        graph.setRoot(.reference(loop), forKey: "root")
        try graph.setValue(.list([.reference(loop)]), forKey: "NS.objects", of: loop)
        var error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(PropertyList.self, from: graph.bytes(format: .binary))
        }
        #expect(error?.code == .cycle)
        for name in ["NSMutableString", "NSMutableData", "NSURL", "NSDate", "NSUUID", "NSDecimalNumber"] {
            var own = ArchivedGraph(archiver: "NSKeyedArchiver")
            let keys = [
                "NS.string", "NS.data", "NS.base", "NS.relative", "NS.time", "NS.uuidbytes", "NS.mantissa", "$0",
            ]
            let index = own.add(className: name, fields: keys.map { ($0, .reference(1)) })
            own.setRoot(.reference(index), forKey: "root")
            #expect(throws: ArchiveError.self, "\(name)") {
                try KeyedUnarchiver.unarchive(PropertyList.self, from: own.bytes(format: .binary))
            }
        }
        // Two plain objects that refer to each other.
        var plain = ArchivedGraph(archiver: "NSKeyedArchiver")
        _ = try plain.add(.value(.reference(2)))
        _ = try plain.add(.value(.reference(1)))
        plain.setRoot(.reference(1), forKey: "root")
        #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(PropertyList.self, from: plain.bytes(format: .binary))
        }
        var bomb = ArchivedGraph(archiver: "NSKeyedArchiver")
        var next = try bomb.add(.value(.string("leaf")))
        for _ in 0..<40 {
            next = bomb.add(
                className: "NSArray", fields: [("NS.objects", .list([.reference(next), .reference(next)]))])
        }
        bomb.setRoot(.reference(next), forKey: "root")
        let start = computingTime()
        error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(PropertyList.self, from: bomb.bytes(format: .binary))
        }
        #expect(error?.code == .limit)
        #expect((computingTime() - start) / Effort.unit < Effort.bound)
    }

    @Test("Graphs are converted from one layout into the other and back")
    func conversion() throws {
        let archiver = KeyedArchiver()
        let foo = Foo("x", 1)
        try archiver.encode([foo, Foo("y", 2), foo], forKey: "foos")
        try archiver.encode(Everything(), forKey: "values")
        try archiver.encode([UUID()], forKey: "uuids")
        try archiver.encode(Data(repeating: 3, count: 50_000), forKey: "data")
        try archiver.encodeConditional(Node(5), forKey: "never")
        let compact = try archiver.finish()
        for format in Self.formats {
            let apple = try ArchivedGraph(compact).bytes(format: format)
            for bytes in [apple, try ArchivedGraph(apple).bytes(format: .compact)] {
                let unarchiver = try KeyedUnarchiver(bytes)
                let foos = try unarchiver.decode([Foo].self, forKey: "foos")
                #expect(foos[0] === foos[2] && foos[1].age == 2)
                #expect(try unarchiver.decode([UUID].self, forKey: "uuids").count == 1)
                #expect(try unarchiver.decode(Data.self, forKey: "data").count == 50_000)
                #expect(try unarchiver.decodeIfPresent(Node.self, forKey: "never") == nil)
                if unarchiver.format != .compact {
                    #expect(try unarchiver.decode(Everything.self, forKey: "values").string == Everything().string)
                }
            }
        }
    }

    @Test("Errors name the path")
    func pathsInAppleFormat() throws {
        let archiver = KeyedArchiver(format: .xml)
        try archiver.encode(Bar([Foo("a", 1), Foo("b", 2)]), forKey: "root")
        var graph = try ArchivedGraph(archiver.finish())
        let foo = try #require(graph.objects.lastIndex { $0.className == "Foo" && $0.record != nil })
        try graph.setValue(.bool(true), forKey: "name", of: foo)
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Bar.self, from: graph.bytes(format: .xml))
        }
        #expect(error?.description == "root.foos[1].name: expected String, found Bool")
    }

    @Test("The bytes of a file are released once it is open, unless large data is still read from them")
    func fileIsLetGo() throws {
        let foos = Bar((0..<100).map { Foo("foo \($0)", $0) })
        let (small, smallBytes) = try Self.open(try KeyedArchiver.archive(foos, format: .binary))
        #expect(!smallBytes.areHeld)
        #expect(try small.decode(Bar.self, forKey: "root").foos.map(\.age) == Array(0..<100))

        let content = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
        let (large, largeBytes) = try Self.open(try KeyedArchiver.archive(content, format: .binary))
        #expect(largeBytes.areHeld)
        #expect(try large.decode(Data.self, forKey: "root") == content)
    }

    /// Opens an archive whose bytes report whether anything still holds them.
    private static func open(_ archive: [UInt8]) throws -> (KeyedUnarchiver, WatchedBytes) {
        let watched = WatchedBytes()
        let memory = UnsafeMutableRawPointer.allocate(byteCount: archive.count, alignment: 16)
        memory.copyMemory(from: archive, byteCount: archive.count)
        let data = Data(
            bytesNoCopy: memory, count: archive.count,
            deallocator: .custom { memory, _ in
                memory.deallocate()
                watched.areHeld = false
            })
        return (try KeyedUnarchiver(consume data), watched)
    }

    private final class WatchedBytes {
        var areHeld = true
    }
}
