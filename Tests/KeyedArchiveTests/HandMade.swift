@testable import KeyedArchive

/// Binary property lists and compact archives, put together byte by byte.
enum HandMade {
    /// An archive of the objects "$null" and "x" whose root is a UID with these bytes.
    static func archive(uid: [UInt8], offsetSize: Int = 1, referenceSize: Int = 1) -> [UInt8] {
        func references(_ numbers: [Int]) -> [UInt8] { numbers.flatMap { bigEndian($0, referenceSize) } }
        let nodes: [[UInt8]] = [
            [0xD4] + references([1, 3, 5, 8, 2, 4, 6, 9]),
            string("$archiver"), string("NSKeyedArchiver"),
            string("$version"), [0x12, 0x00, 0x01, 0x86, 0xA0],
            string("$top"), [0xD1] + references([7, 12]), string("root"),
            string("$objects"), [0xA2] + references([10, 11]), string("$null"), string("x"),
            [0x80 | UInt8(uid.count - 1)] + uid,
        ]
        return file(nodes, offsetSize, referenceSize)
    }

    /// An archive whose object 1 is a list that contains the same list twice, and so on, for a number of levels.
    static func shared(levels: Int) -> [UInt8] {
        let first = 13
        var nodes: [[UInt8]] = [
            [0xD4, 1, 3, 5, 8, 2, 4, 6, 9], string("$archiver"), string("NSKeyedArchiver"), string("$version"),
            [0x12, 0x00, 0x01, 0x86, 0xA0], string("$top"), [0xD1, 7, 11], string("root"), string("$objects"),
            [0xA2, 10, UInt8(first)], string("$null"), [0x80, 0x01], string("leaf"),
        ]
        for level in 0..<levels {
            let next = UInt8(level + 1 < levels ? first + level + 1 : 12)
            nodes.append([0xA2, next, next])
        }
        return file(nodes, 2, 1)
    }

    /// An archive whose object 1 is a list that contains one long string many times.
    static func repeated(length: Int, times: Int) -> [UInt8] {
        let nodes: [[UInt8]] = [
            [0xD4, 1, 3, 5, 8, 2, 4, 6, 9], string("$archiver"), string("NSKeyedArchiver"), string("$version"),
            [0x12, 0x00, 0x01, 0x86, 0xA0], string("$top"), [0xD1, 7, 11], string("root"), string("$objects"),
            [0xA2, 10, 12], string("$null"), [0x80, 0x01],
            [0xAF, 0x12] + bigEndian(times, 4) + [UInt8](repeating: 13, count: times),
            [0x5F, 0x12] + bigEndian(length, 4) + [UInt8](repeating: 0x61, count: length),
        ]
        return file(nodes, 4, 1)
    }

    /// An archive whose root is its own list of objects, which contains a list.
    static func objectsAsRoot() -> [UInt8] {
        let nodes: [[UInt8]] = [
            [0xD4, 1, 3, 5, 8, 2, 4, 6, 9], string("$archiver"), string("NSKeyedArchiver"), string("$version"),
            [0x12, 0x00, 0x01, 0x86, 0xA0], string("$top"), [0xD1, 7, 9], string("root"), string("$objects"),
            [0xA2, 10, 11], string("$null"), [0xA0],
        ]
        return file(nodes, 1, 1)
    }

    private static func string(_ text: String) -> [UInt8] {
        let count = UInt8(text.utf8.count)
        return (count < 15 ? [0x50 | count] : [0x5F, 0x10, count]) + Array(text.utf8)
    }

    private static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func file(_ nodes: [[UInt8]], _ offsetSize: Int, _ referenceSize: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for node in nodes {
            offsets += bigEndian(bytes.count, offsetSize)
            bytes += node
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        return bytes + bigEndian(nodes.count, 8) + bigEndian(0, 8) + bigEndian(table, 8)
    }
}

extension HandMade {
    /// Small archives that claim to be large, or would be large if shared values were written out.
    static var greedy: [(name: String, bytes: [UInt8])] {
        let nested = 50_000
        let entities = (1..<30).map { "<!ENTITY e\($0) \"&e\($0 - 1);&e\($0 - 1);\">" }.joined()
        return [
            ("a list of lists shared by two", shared(levels: 60)),
            ("a long string at many places", repeated(length: 100_000, times: 20_000)),
            ("a list of 2^32 elements", claiming([0xAF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF])),
            ("data of 2^62 bytes", claiming([0x4F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0])),
            ("a string of 2^31 units", claiming([0x6F, 0x12, 0x80, 0, 0, 0])),
            ("a dictionary of 2^40 keys", claiming([0xDF, 0x13, 0, 0, 1, 0, 0, 0, 0, 0])),
            (
                "2^32 objects",
                Array("bplist00".utf8) + [UInt8](repeating: 0, count: 6) + [8, 8]
                    + [0, 0, 0, 1, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
            ),
            ("2^40 shapes", CompactFile.magic + [0x80, 0x80, 0x80, 0x80, 0x80, 0x20] + [0, 0]),
            ("2^40 objects in a compact archive", CompactFile.magic + [0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0]),
            (
                "XML nested deep",
                Array(
                    (String(repeating: "<array>", count: nested)
                        + String(repeating: "</array>", count: nested)).utf8)
            ),
            (
                "XML whose entities grow",
                Array(
                    "<!DOCTYPE plist [<!ENTITY e0 \"x\">\(entities)]><plist><string>&e29;</string></plist>".utf8)
            ),
        ]
    }

    /// An archive that ends after its object 1, which consists of these bytes.
    static func claiming(_ object: [UInt8]) -> [UInt8] {
        let nodes: [[UInt8]] = [
            [0xD4, 1, 3, 5, 8, 2, 4, 6, 9], string("$archiver"), string("NSKeyedArchiver"), string("$version"),
            [0x12, 0x00, 0x01, 0x86, 0xA0], string("$top"), [0xD1, 7, 11], string("root"), string("$objects"),
            [0xA2, 10, 12], string("$null"), [0x80, 0x01], object,
        ]
        return file(nodes, 2, 1)
    }
}

extension HandMade {
    /// A compact archive of these shapes, values and bodies of objects, valid or not.
    static func compact(_ shapes: [Shape], values: [UInt8], objects: [[UInt8]] = []) -> [UInt8] {
        var front = ByteSink()
        defer { front.deallocate() }
        front.varint(UInt64(shapes.count))
        return CompactFile.magic + Array(front.bytes) + shapes.flatMap(\.definition)
            + body(values: values, objects: objects)
    }

    /// The body of a compact archive.
    static func body(values: [UInt8], objects: [[UInt8]] = []) -> [UInt8] {
        var sink = ByteSink()
        defer { sink.deallocate() }
        sink.varint(UInt64(objects.count))
        sink.varint(UInt64(values.count))
        for object in objects { sink.varint(UInt64(object.count)) }
        return Array(sink.bytes) + values + objects.joined()
    }

    /// The shape of a top-level record with one key, "a": the first shape of the archives above.
    static var top: Shape { Shape(name: "", version: 0, kind: .record, layout: .keyed, keys: ["a"]) }

    /// A compact archive with the bytes of a value under the key "a"; the shapes are numbered from 1.
    static func compact(
        _ value: [UInt8], _ shapes: [Shape] = [], objects: [[UInt8]] = []
    ) -> [UInt8] {
        compact([top] + shapes, values: [Tag.record, 0, 0] + value, objects: objects)
    }

    /// A string value of less than 64 bytes.
    static func text(_ text: String) -> [UInt8] { [Tag.firstString + UInt8(text.utf8.count)] + Array(text.utf8) }
}
