import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

#if canImport(Glibc)
    import Glibc
#endif

/// Counts that an archive announces, but that its bytes do not contain, cost no memory.
///
/// A failed allocation in an array, dictionary or string ends the process. So a reader must reserve room only for bytes
/// that are present. Each row runs in a process to which the system refuses more than a little address space, even if
/// the memory is never written.
@Suite("Counts that are announced and not kept")
struct AnnouncedCountTests {
    /// Address space that all readers together may take in addition to what the process has.
    private static let most = 128 << 20

    /// The number of bytes that follow in the archives that are not short.
    private static let filler = 1 << 20

    private static let counts: [UInt64] = [1 << 62, 1 << 40, 1 << 31, 1 << 27, 1 << 20]

    private static func varint(_ value: UInt64) -> [UInt8] {
        var rest = value
        var bytes: [UInt8] = []
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// Compact archives in which something announces `count` elements or bytes, and `rest` bytes follow.
    private static func compact(_ count: UInt64, _ rest: Int) -> [(String, [UInt8])] {
        let number = varint(count)
        let tail = [UInt8](repeating: 0, count: rest)
        let explicit = Shape(name: "P", version: 0, kind: .record, layout: .explicit, keys: [])
        let object = Shape(name: "Foo", version: 0, kind: .object, layout: .explicit, keys: [])
        var rows = [
            ("list", [Tag.list]), ("set", [Tag.set]), ("map", [Tag.map]), ("references", [Tag.references]),
            ("bytes", [Tag.bytes]), ("string", [Tag.string]), ("decimal", [Tag.decimal, 0, Tag.string]),
            ("URL", [Tag.url, Tag.string]), ("record", [Tag.record, 1, 0]),
        ].map { ("a \($0)", HandMade.compact($1 + number + tail, [explicit])) }
        for kind in [PackedKind.int64, .uint8, .double, .bool, .int16] {
            rows.append(("packed \(kind)", HandMade.compact([Tag.packed, kind.rawValue] + number + tail)))
        }
        rows.append(
            (
                "an object's keys",
                HandMade.compact([Tag.reference, 0], [object], objects: [[1, 0] + number + tail])
            ))
        let magic = CompactFile.magic
        rows.append(("shapes", magic + number + tail))
        rows.append(("a shape's keys", magic + [1, 0, 0x81, 0x61, 0] + number + tail))
        rows.append(("a shape's name", magic + [1, 0, Tag.string] + number + tail))
        rows.append(("objects", magic + [0] + number + tail))
        rows.append(("values", magic + [0, 0] + number + tail))
        rows.append(("an object's length", magic + [0, 1, 0] + number + tail))
        return rows
    }

    /// Binary property lists in which an object announces `count` elements or bytes, and `rest` bytes follow.
    private static func binary(_ count: UInt64, _ rest: Int) -> [(String, [UInt8])] {
        let tail = [UInt8](repeating: 0, count: rest)
        var rows = [
            ("data", 0x4F), ("ASCII", 0x5F), ("UTF-16", 0x6F), ("UTF-8", 0x7F), ("array", 0xAF), ("set", 0xCF),
            ("dictionary", 0xDF),
        ].map { ("binary \($0)", HandMade.claiming([UInt8($1), 0x13] + bigEndian(count) + tail)) }
        let trailer = [0, 0, 0, 0, 0, 0, 1, 1] + bigEndian(count) + bigEndian(0) + bigEndian(9)
        rows.append(("binary objects", Array("bplist00".utf8) + [8] + tail + trailer))
        return rows
    }

    /// Opens an archive in all ways; returns how many of them succeeded.
    private static func open(_ bytes: [UInt8]) -> Int {
        var opened = (try? ArchivedGraph(bytes)) == nil ? 0 : 1
        guard let unarchiver = try? KeyedUnarchiver(bytes) else { return opened }
        func decode<T: Decodable>(_ type: T.Type) {
            if (try? unarchiver.decode(type, forKey: unarchiver.keys[0])) != nil { opened += 1 }
        }
        guard !unarchiver.keys.isEmpty else { return opened }
        decode([Int].self)
        decode([UInt8].self)
        decode([Bool].self)
        decode([Double].self)
        decode([String].self)
        decode([Foo].self)
        decode([[Int]].self)
        decode(Set<Int>.self)
        decode([String: Int].self)
        decode([Int: String].self)
        decode(Data.self)
        decode(String.self)
        decode(Decimal.self)
        decode(URL.self)
        decode(Foo.self)
        decode(Everything.self)
        decode(PropertyList.self)
        return opened
    }

    #if os(Linux)
        /// Lets the rest of the process run with little more memory than it has.
        private static func refuseMemory() throws {
            let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
            let pages = try #require(text.split(separator: " ").first.flatMap { Int($0) })
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            limit.rlim_cur = rlim_t(pages * sysconf(Int32(_SC_PAGESIZE)) + most)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
            #expect(malloc(2 * most) == nil, "memory is not refused")
        }

        @Test(
            "No reader allocates for content that is not present",
            .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
        func refusedInAnnouncedCountOfArchives() async throws {
            await #expect(processExitsWith: .success) {
                try Self.refuseMemory()
                for count in Self.counts {
                    for (name, bytes) in Self.compact(count, 3) + Self.binary(count, 3) {
                        #expect(Self.open(bytes) == 0, "\(name) of \(count) was taken")
                    }
                }
                // Each element takes at least a byte, so these counts are plausible; some are archives.
                let count = UInt64(Self.filler)
                for (_, bytes) in Self.compact(count, Self.filler) + Self.binary(count, Self.filler) {
                    _ = Self.open(bytes)
                }
            }
        }
    #endif
}
