import Foundation
import Testing

@testable import KeyedArchive

@Suite("What the compact format leaves to those who write it")
struct FormatAllowanceTests {
    private static let object = Shape(name: "A", version: 0, kind: .object, layout: .keyed, keys: ["k"])
    private static let nan: [UInt8] = [0, 0, 0, 0, 0, 0, 0xF8, 0x7F]

    /// Valid archives, by what is unusual about them.
    private static let unusual: [(name: String, bytes: [UInt8])] = [
        ("elements twice", HandMade.compact([Tag.set, 2, 1, 1])),
        ("keys twice", HandMade.compact([Tag.map, 2] + HandMade.text("k") + [1] + HandMade.text("k") + [2])),
        ("a date that is NaN", HandMade.compact([Tag.date] + nan)),
        ("an object nobody refers to", HandMade.compact([1], [object], objects: [[1, 0, 5]])),
        (
            "objects in another order",
            HandMade.compact(
                [Tag.list, 2, Tag.reference, 1, Tag.reference, 0], [object], objects: [[1, 0, 5], [1, 0, 6]])
        ),
        (
            "a conditional object only",
            HandMade.compact([Tag.conditional, 0, 0, 0, 0], [object], objects: [[1, 0, 5]])
        ),
        ("shapes that nothing uses", HandMade.compact([1], [object, object, HandMade.top])),
        (
            "a class without name",
            HandMade.compact(
                [Tag.reference, 0], [Shape(name: "", version: 0, kind: .object, layout: .keyed, keys: [])],
                objects: [[1, 0]])
        ),
        (
            "a named top",
            HandMade.compact(
                [Shape(name: "T", version: 3, kind: .record, layout: .keyed, keys: ["a"])],
                values: [Tag.record, 0, 0, 1])
        ),
        ("a URL that is none", HandMade.compact([Tag.url] + HandMade.text("http://[") + [Tag.none])),
        ("an empty URL", HandMade.compact([Tag.url, 0x80, Tag.none])),
        ("an optional anywhere", HandMade.compact([Tag.some, 5])),
        (
            "longer forms",
            HandMade.compact([Tag.list, 0x83, 0, Tag.integer, 2, Tag.unsigned, 0x82, 0, Tag.string, 1, 0x78])
        ),
    ]

    @Test("Archives that the format allows open, and are unchanged when they are written again")
    func allowedInFormatAllowance() throws {
        for (name, bytes) in Self.unusual {
            do {
                let graph = try ArchivedGraph(bytes)
                #expect(try ArchivedGraph(graph.bytes(format: .compact)) == graph, "\(name)")
                _ = try KeyedUnarchiver(bytes)
            } catch {
                Issue.record("\(name): \(error)")
            }
        }
    }

    private func read<T: Decodable>(_ type: T.Type, _ value: [UInt8]) throws -> T {
        try KeyedUnarchiver(HandMade.compact(value)).decode(type, forKey: "a")
    }

    @Test("A repeated element of a set is kept once, a repeated key of a dictionary is an error")
    func duplicates() throws {
        #expect(try read(Set<Int>.self, [Tag.set, 2, 1, 1]) == [1])
        let error = #expect(throws: ArchiveError.self) { try read([Int: Int].self, [Tag.map, 2, 1, 1, 1, 2]) }
        #expect(error?.code == .duplicateKey)
    }

    @Test("Inline keys may be in any order, which may differ between objects")
    func anyOrderInFormatAllowance() throws {
        let foo = Shape(name: "Foo", version: 0, kind: .object, layout: .explicit, keys: [])
        let name = HandMade.text("name") + HandMade.text("x")
        let age = HandMade.text("age") + [7]
        let bytes = HandMade.compact(
            [Tag.references, 2, 0, 0], [foo], objects: [[1, 0, 2] + name + age, [1, 0, 2] + age + name])
        let foos = try KeyedUnarchiver(bytes).decode([Foo].self, forKey: "a")
        #expect(foos.map(\.name) == ["x", "x"] && foos.map(\.age) == [7, 7])
    }

    @Test("Text that is not a URL is an error where a URL is decoded, also as a base")
    func urls() throws {
        func url(_ text: String, _ base: String?) -> [UInt8] {
            [Tag.url] + HandMade.text(text) + (base.map(HandMade.text) ?? [Tag.none])
        }
        #expect(try read(URL.self, url("c", "http://a/b/")).absoluteString == "http://a/b/c")
        for wrong in [url("", nil), url("http://[", nil), url("c", ""), url("c", "http://[")] {
            let error = #expect(throws: ArchiveError.self) { try read(URL.self, wrong) }
            #expect(error?.code == .corrupt)
        }
    }

    @Test("An optional is marked only inside another one, and a mark elsewhere is an error")
    func optionalsInFormatAllowance() throws {
        #expect(try read(Int?.self, [5]) == 5)
        #expect(try read(Int??.self, [Tag.some, 5]) == 5)
        #expect(try read(Int??.self, [Tag.some, Tag.none]) == .some(nil))
        #expect(try read(Int??.self, [Tag.none]) == nil)
        func expectMismatch<T: Decodable>(_ type: T.Type, _ value: [UInt8]) {
            let error = #expect(throws: ArchiveError.self) { try read(type, value) }
            #expect(error?.code == .typeMismatch)
        }
        expectMismatch(Int.self, [Tag.some, 5])
        expectMismatch(Int?.self, [Tag.some, 5])
        expectMismatch(Int??.self, [5])
        expectMismatch([Int].self, [Tag.list, 1, Tag.some, 5])
    }

    @Test("1,024 levels of nesting are read and written, not counting the record at the top")
    func levels() throws {
        let record = Shape(name: "", version: 0, kind: .record, layout: .keyed, keys: ["k"])
        for level: [UInt8] in [
            [Tag.list, 1], [Tag.set, 1], [Tag.map, 1, 0], [Tag.map, 1], [Tag.some], [Tag.record, 1, 0],
        ] {
            // For a dictionary nested in its own key, the value follows.
            let end: [UInt8] = level == [Tag.map, 1] ? [0] : []
            func nested(_ count: Int) -> [UInt8] {
                let levels = [[UInt8]](repeating: level, count: count).joined()
                let ends = [[UInt8]](repeating: end, count: count).joined()
                return HandMade.compact(levels + [1] + ends, [record])
            }
            _ = try ArchivedGraph(nested(1024))
            let error = #expect(throws: ArchiveError.self) { try ArchivedGraph(nested(2000)) }
            #expect(error?.code == .limit)
        }
        var limits = ArchiveLimits()
        limits.depth = 2
        _ = try KeyedArchiver.archive([Int??.some(nil)], limits: limits)
        _ = try KeyedArchiver.archive([[1]], limits: limits)
        struct Holder: Codable { var value: Int?? = .some(nil) }
        _ = try KeyedArchiver.archive(Holder(), limits: limits)
        #expect(throws: ArchiveError.self) { try KeyedArchiver.archive([Holder()], limits: limits) }
        #expect(throws: ArchiveError.self) { try KeyedArchiver.archive([[Int??.some(nil)]], limits: limits) }
    }

    @Test("An archive converted from Apple's format opens, even if it is nested deeper")
    func convertedLevels() throws {
        var wide = ArchiveLimits()
        wide.depth = 1000
        var list = PropertyList.string("x")
        for level in 1...120 {
            list = .array([list])
            let graph = try ArchivedGraph(KeyedArchiver.archive(list, format: .binary, limits: wide))
            let bytes = try graph.bytes(format: .compact)
            #expect(throws: Never.self, "\(level) levels") { try ArchivedGraph(bytes) }
        }
    }

    @Test("A message without values is two bytes")
    func emptyInFormatAllowance() throws {
        let encoder = ObjectEncoder()
        try encoder.finish()
        var bytes = [UInt8](repeating: 0xFF, count: encoder.byteCount)
        bytes.withUnsafeMutableBytes { encoder.copyBytes(to: $0) }
        #expect(bytes == [0, 0])
        let decoder = ObjectDecoder()
        try bytes.withUnsafeBytes { try decoder.load(bytes: $0) }
        decoder.unload()
        #expect(throws: ArchiveError.self) { try decoder.load(bytes: UnsafeRawBufferPointer(start: nil, count: 0)) }
    }
}
