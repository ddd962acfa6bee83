import Foundation
import KeyedArchive
import PortTransport

/// Broken and hostile archives of our own making, and a few that only look so.
enum BrokenArchives {
    static let all = Result { try named() + mutated() }

    // MARK: By what is wrong with them

    /// Each under the name by which tests know the one of others.
    private static func named() throws -> [Fixtures.Archive] {
        let string = PlistBytes.text("x")
        let entities = (1..<30).map { "<!ENTITY e\($0) \"&e\($0 - 1);&e\($0 - 1);\">" }.joined()
        let xml = String(decoding: try lists(3) { [$0 + 1] }.bytes(format: .xml), as: UTF8.self)
        let many = PlistBytes.bigEndian(2_000_000_000, 4)
        let keyed = [0xD1, 12, 14] as [UInt8]
        return try [
            ("ka-deep-2k-nsarray.plist", lists(2_000) { [$0 + 1] }.bytes(format: .binary)),
            ("ka-dag-bomb-40.plist", lists(40) { [$0 + 1, $0 + 1] }.bytes(format: .binary)),
            ("ka-array-contains-itself.plist", lists(1) { [$0] }.bytes(format: .binary)),
            ("ka-nonascii-key.plist", nonASCII().bytes(format: .binary)),
            ("ka-root-uid-0.plist", PlistBytes.archive([string], uid: [0])),
            ("ka-root-uid-2^32+1.plist", PlistBytes.archive([string], uid: [0, 0, 0, 1, 0, 0, 0, 1])),
            ("ka-class-oob.plist", PlistBytes.archive([keyed, [0x80, 99]], count: 1)),
            (
                "ka-xml-uid-2p64.plist",
                // The record of the class is object 1, and nothing else is.
                Array(
                    xml.replacingOccurrences(
                        of: "<integer>1</integer>", with: "<integer>18446744073709551616</integer>"
                    )
                    .utf8)
            ),
            ("xml-utf16-bom.plist", Array(xml.data(using: .utf16) ?? Data())),
            (
                "xml-entity-bomb.plist",
                Array("<!DOCTYPE plist [<!ENTITY e0 \"x\">\(entities)]><plist><string>&e29;</string></plist>".utf8)
            ),
            (
                "plist-deep-3k-arrays.bplist",
                PlistBytes.file((1..<3_000).map { [0xA1] + PlistBytes.bigEndian($0, 2) } + [string], 2, 2)
            ),
            ("plist-claims-2e9-objects.bplist", PlistBytes.file([[0xAF, 0x12] + many, string], 1, 1)),
            ("binary_circular_array.plist", PlistBytes.file([[0xA1, 0]], 1, 1)),
            ("empty.plist", []), ("magic.plist", Array("bplist00".utf8)), ("json.plist", Array("{\"a\": 1}".utf8)),
        ].map { Fixtures.Archive(name: "own__\($0.0)", bytes: $0.1) }
    }

    /// Objects of the class `NSArray` in a row; `content` says the places of those in one, the last excepted.
    private static func lists(_ count: Int, _ content: (Int) -> [Int]) -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        // The first one adds the record of the class behind "$null", so that it is object 2.
        for number in 0..<count {
            let places = content(number).map { min($0, count - 1) }
            _ = graph.add(
                className: "NSArray",
                fields: [
                    ("NS.objects", .list(number == count - 1 && count > 1 ? [] : places.map { .reference($0 + 2) }))
                ])
        }
        graph.setRoot(.reference(2), forKey: "root")
        return graph
    }

    private static func nonASCII() -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        graph.setRoot(.reference(graph.add(className: "Foo", fields: [("\u{E9}", .integer(1))])), forKey: "root")
        return graph
    }

    // MARK: By chance

    /// Archives of our own with a few bytes changed, cut off, or with a part of another one in them.
    private static func mutated() throws -> [Fixtures.Archive] {
        let seed = ProcessInfo.processInfo.environment["DISTANT_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
        print("broken archives are made with DISTANT_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let archives = try OwnArchives.all.get().map(\.real.archive).filter { $0.bytes.count < 16 << 10 }
        return archives.flatMap { archive in
            (0..<2).map { number in
                let other = archives[Int.random(in: archives.indices, using: &random)].bytes
                return Fixtures.Archive(
                    name: "own__mutated-\(number)-\(archive.name)", bytes: mutate(archive.bytes, other, &random))
            }
        }
    }

    private static func mutate(_ bytes: [UInt8], _ other: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeSubrange(place...)
        case 1:
            let end = min(place + Int.random(in: 1...64, using: &random), min(bytes.count, other.count))
            if place < end { bytes.replaceSubrange(place..<end, with: other[place..<end]) }
        default:
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                bytes[index] = Bool.random(using: &random) ? .random(in: 0...255, using: &random) : bytes[index] ^ 1
            }
        }
        return bytes
    }
}
