import Foundation
import Testing

@testable import KeyedArchive

@Suite("The compact format as documented")
struct FormatTests {
    /// The bytes of an example in `CompactFormat.md`, without their explanations.
    private func example(_ heading: String) throws -> [UInt8] {
        let catalog = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/KeyedArchive/KeyedArchive.docc/CompactFormat.md")
        let text = try String(contentsOf: catalog, encoding: .utf8)
        let lines = text[try #require(text.range(of: "## \(heading)\n")).upperBound...].split(separator: "\n")
        var bytes: [UInt8] = []
        for line in lines.prefix(while: { !$0.hasPrefix("## ") }) where line.hasPrefix("    ") {
            for word in line.split(separator: " ", omittingEmptySubsequences: false).dropFirst(4) {
                guard word.count == 2, let byte = UInt8(word, radix: 16) else { break }
                bytes.append(byte)
            }
        }
        return bytes
    }

    @Test("The example of the format's description is what is written, and is read")
    func documented() throws {
        let foo = Foo("Juliana", 7)
        let archiver = KeyedArchiver()
        try archiver.encode(foo, forKey: "foo")
        try archiver.encode([foo, Foo("Nicolas", -3)], forKey: "list")
        let bytes = try archiver.finish()
        #expect(try example("Example") == bytes)
        let list = try KeyedUnarchiver(example("Example")).decode([Foo].self, forKey: "list")
        #expect(list.map(\.age) == [7, -3])
    }

    private enum DirectoryError: Error, Codable, Equatable { case noSuchName(String) }

    @Test("The example of an enum is what its synthesized coding writes, and is read")
    func documentedEnum() throws {
        let error = DirectoryError.noSuchName("Ada")
        let archiver = KeyedArchiver()
        try archiver.encode(error, forKey: "error")
        let bytes = try archiver.finish()
        #expect(try example("Example of an enum") == bytes)
        #expect(try KeyedUnarchiver(bytes).decode(DirectoryError.self, forKey: "error") == error)
    }

    @Test("Each kind of value has the bytes the table says")
    func tableInFormat() throws {
        func bytes<T>(_ value: T) throws -> [UInt8] {
            let encoder = ObjectEncoder()
            try encoder.encodeTop(value, ValueCodec<T>.of(T.self))
            try encoder.finish()
            var result = [UInt8](repeating: 0, count: encoder.byteCount)
            result.withUnsafeMutableBytes { encoder.copyBytes(to: $0) }
            return Array(result.dropFirst(2))
        }
        #expect(try bytes(5) == [5])
        #expect(try bytes(UInt8(255)) == [0xC3, 0xFE, 0x03])
        #expect(try bytes(-1) == [0xC3, 1])
        #expect(try bytes(UInt64.max) == [0xC4] + [UInt8](repeating: 0xFF, count: 9) + [1])
        #expect(try bytes(Int128.min) == [0xC5] + [UInt8](repeating: 0, count: 15) + [0x80])
        #expect(try bytes(UInt128.max) == [0xC6] + [UInt8](repeating: 0xFF, count: 16))
        #expect(try bytes(Float(1)) == [0xC7, 0, 0, 0x80, 0x3F])
        #expect(try bytes(1.0) == [0xC8, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
        #expect(try bytes("é") == [0x82, 0xC3, 0xA9])
        #expect(try bytes(String(repeating: "a", count: 64)).prefix(2) == [0xC9, 64])
        #expect(try bytes(Data([9])) == [0xCA, 1, 9])
        #expect(try bytes([9] as [UInt8]) == [0xCA, 1, 9])
        #expect(try bytes(Date(timeIntervalSinceReferenceDate: 1)) == [0xCB, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
        #expect(try bytes(URL(string: "http://a/")) == [0xCD, 0x89] + Array("http://a/".utf8) + [0xC0])
        #expect(try bytes(Decimal(-12.5)) == [0xCE, 1, 0x84] + Array("-125".utf8))
        #expect(try bytes(["a"]) == [0xCF, 1, 0x81, 0x61])
        #expect(try bytes(["a": true]) == [0xD0, 1, 0x81, 0x61, 0xC2])
        #expect(try bytes(Set([1])) == [0xD1, 1, 1])
        #expect(try bytes([1, -1] as [Int16]) == [0xD2, 2, 2, 1, 0, 0xFF, 0xFF])
        #expect(try bytes([true]) == [0xD2, 11, 1, 1])
        #expect(try bytes(Int??.some(nil)) == [0xD8, 0xC0])
        #expect(try bytes(Int?.none) == [0xC0])
    }

    @Test("Strings of every short length round-trip, and bytes that are not UTF-8 are an error")
    func stringsInFormat() throws {
        func read(_ bytes: [UInt8]) throws -> String {
            try ([Tag.string, UInt8(bytes.count)] + bytes).withUnsafeBytes {
                var source = ByteSource($0)
                return try source.stringValue(ArchiveLimits())
            }
        }
        for length in 0...40 {
            let ascii = (0..<length).map { UInt8(0x41 + $0) }
            #expect(try Array(read(ascii).utf8) == ascii)
            for character in ["é", "€", "😀", "\u{FFFD}"] {
                let text = String(decoding: ascii, as: UTF8.self) + character
                #expect(try read(Array(text.utf8)) == text)
            }
            // Truncated, overlong, half of a surrogate pair, beyond the last character, a lone continuation byte. Some
            // of them are repaired to the same number of bytes.
            for wrong: [UInt8] in [
                [0xF0, 0x9F, 0x98], [0xE2, 0x82], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
                [0xF4, 0x90, 0x80, 0x80], [0x80], [0xFF],
            ] {
                #expect(throws: ArchiveError.self) { try read(ascii + wrong) }
                #expect(throws: ArchiveError.self) { try read(wrong + ascii) }
            }
        }
    }

    @Test("A padded number is valid, one of more than 64 bits is not")
    func varints() throws {
        func read(_ bytes: [UInt8]) throws -> UInt64 {
            try bytes.withUnsafeBytes {
                var source = ByteSource($0)
                return try source.varint()
            }
        }
        #expect(try read([0x85, 0x80, 0x00]) == 5)
        #expect(try read([UInt8](repeating: 0xFF, count: 9) + [1]) == .max)
        #expect(throws: ArchiveError.self) { try read([UInt8](repeating: 0xFF, count: 9) + [2]) }
        #expect(throws: ArchiveError.self) { try read([UInt8](repeating: 0x80, count: 10) + [0]) }
        #expect(throws: ArchiveError.self) { try read([0x80]) }
    }

    // MARK: What it forbids

    /// Expects that readers that do not know its classes refuse a file as corrupt.
    private func expectCorrupt(_ bytes: [UInt8], location: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: ArchiveError.self, sourceLocation: location) { try ArchivedGraph(bytes) }
        #expect(error?.code == .corrupt, "\(String(describing: error))", sourceLocation: location)
    }

    @Test("A file with a record shape for single values throws when it is opened")
    func singleRecord() throws {
        let shape = Shape(name: "", version: 0, kind: .record, layout: .single, keys: [])
        for bytes in [HandMade.compact([Tag.record, 1, 0, 5], [shape]), HandMade.compact([5], [shape])] {
            expectCorrupt(bytes)
            let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(bytes) }
            #expect(error?.code == .corrupt)
        }
        let object = Shape(name: "A", version: 0, kind: .object, layout: .single, keys: [])
        let graph = try ArchivedGraph(HandMade.compact([Tag.reference, 0], [object], objects: [[1, 0, 5]]))
        #expect(graph.objects[0].record?.values == [.integer(5)])
    }

    /// Reads its values in another order than `Foo` writes them.
    private final class Backwards: ObjectCoding {
        let name: String
        static let className = "Foo"
        init(coder: ObjectDecoder) throws {
            _ = try coder.decode(Int.self, forKey: "age")
            name = try coder.decode(String.self, forKey: "name")
        }
        func encode(with coder: ObjectEncoder) throws {}
    }

    /// Reads only some of its values.
    private final class Partial: ObjectCoding {
        let name: String
        static let className = "Foo"
        init(coder: ObjectDecoder) throws { name = try coder.decode(String.self, forKey: "name") }
        func encode(with coder: ObjectEncoder) throws {}
    }

    /// Is `Codable`, but not `ObjectCoding`.
    private final class Plain: Codable {
        let name: String
        let age: Int
    }

    private final class PlainNumber: Codable {
        let number: Int
        init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
        func encode(to encoder: any Encoder) throws {}
    }

    private static let keyed = Shape(name: "Foo", version: 0, kind: .object, layout: .keyed, keys: ["name", "age"])
    private static let explicit = Shape(name: "Foo", version: 0, kind: .object, layout: .explicit, keys: [])

    /// An archive of an object under the key "a", whose body ends in these bytes.
    private func object(_ end: [UInt8], _ shape: Shape = keyed, name: String = "Foo") -> [UInt8] {
        let shape = Shape(name: name, version: 0, kind: .object, layout: shape.layout, keys: shape.keyNames)
        let values =
            shape.layout == .keyed
            ? HandMade.text("x") + [7]
            : [2] + HandMade.text("age") + [7] + HandMade.text("name") + HandMade.text("x")
        return HandMade.compact([Tag.reference, 0], [shape], objects: [[1, 0] + values + end])
    }

    @Test("Bytes after an object's values are an error, for decoders once all values are decoded")
    func leftOvers() throws {
        func read<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
            try KeyedUnarchiver(bytes).decode(type, forKey: "a")
        }
        func expectRefused<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) {
            let error = #expect(throws: ArchiveError.self) { try read(type, bytes) }
            #expect(error?.code == .corrupt && error?.path == "a", "\(String(describing: error))")
        }
        for shape in [Self.keyed, Self.explicit] {
            #expect(try read(Foo.self, object([], shape)).age == 7)
            #expect(try read(Backwards.self, object([], shape)).name == "x")
            #expect(try read(Plain.self, object([], shape, name: "Plain")).age == 7)
            for end: [UInt8] in [[0xFF, 0xFF], [0], [Tag.none]] {
                expectCorrupt(object(end, shape))
                expectRefused(Foo.self, object(end, shape))
                expectRefused(Backwards.self, object(end, shape))
                expectRefused(Plain.self, object(end, shape, name: "Plain"))
            }
        }
        // The end of the values is not checked if not all of them are read.
        #expect(try read(Partial.self, object([0xFF, 0xFF])).name == "x")
        let single = Shape(name: "PlainNumber", version: 0, kind: .object, layout: .single, keys: [])
        for end: [UInt8] in [[], [0]] {
            let bytes = HandMade.compact([Tag.reference, 0], [single], objects: [[1, 0, 5] + end])
            guard end.isEmpty else {
                expectCorrupt(bytes)
                expectRefused(PlainNumber.self, bytes)
                continue
            }
            #expect(try read(PlainNumber.self, bytes).number == 5)
        }
    }

    @Test("Bytes after an object's values are an error in messages")
    func leftOversOfMessages() throws {
        for end: [UInt8] in [[], [0xFF, 0xFF]] {
            let foo = [0, 0] + HandMade.text("x") + [7] + end
            let body = HandMade.body(values: [Tag.reference, 0, 5], objects: [foo])
            try body.withUnsafeBytes { bytes in
                let decoder = try ObjectDecoder(bytes: bytes, owner: nil, shapes: [Self.keyed])
                guard end.isEmpty else {
                    let error = #expect(throws: ArchiveError.self) { try decoder.decodeTop(Foo.self) }
                    #expect(error?.code == .corrupt)
                    return
                }
                #expect(try decoder.decodeTop(Foo.self).age == 7)
                #expect(try decoder.decodeTop(Int.self) == 5)
            }
        }
    }

    @Test("A file has one value at its top")
    func topsInFormat() throws {
        let explicit = Shape(name: "", version: 0, kind: .record, layout: .explicit, keys: [])
        let one: [UInt8] = [Tag.record, 0, 0, 1]
        for (shape, values) in [(HandMade.top, one), (explicit, [Tag.record, 0, 0, 1] + HandMade.text("a") + [1])] {
            let good = HandMade.compact([shape], values: values)
            #expect(try ArchivedGraph(good).roots["a"] == .integer(1))
            #expect(try KeyedUnarchiver(good).decode(Int.self, forKey: "a") == 1)
            for more in [values, [5], [0xFF]] {
                let bytes = HandMade.compact([shape], values: values + more)
                expectCorrupt(bytes)
                let error = #expect(throws: ArchiveError.self) {
                    try KeyedUnarchiver(bytes).decode(Int.self, forKey: "a")
                }
                #expect(error?.code == .corrupt)
            }
        }
    }

    private func decimal(_ digits: String, _ exponent: Int64 = 0) -> [UInt8] {
        var sink = ByteSink()
        defer { sink.deallocate() }
        sink.byte(Tag.decimal)
        sink.zigzag(exponent)
        sink.string(digits)
        return HandMade.compact(Array(sink.bytes))
    }

    @Test("A decimal has only the digits that the format allows")
    func decimalsInFormat() throws {
        let most = "340282366920938463463374607431768211455"
        for (digits, exponent) in [("0", 0), ("-12", 127), ("007", -128), (most, 127), ("-" + most, -128), ("-0", 3)] {
            let bytes = decimal(digits, Int64(exponent))
            #expect(try ArchivedGraph(bytes).roots["a"] == .decimal(digits: digits, exponent: Int64(exponent)))
            let read = try KeyedUnarchiver(bytes).decode(Decimal.self, forKey: "a")
            #expect(!read.isNaN && read == Decimal(string: "\(digits)e\(exponent)"), "\(digits)")
            _ = try ArchivedGraph(bytes).bytes(format: .binary)
        }
        #expect(try KeyedUnarchiver(decimal("NaN")).decode(Decimal.self, forKey: "a").isNaN)
        let above = "340282366920938463463374607431768211456"
        let wrong = [
            "", "-", "+1", "--1", "1-", " 1", "1 ", "1.5", "1e5", "0x1", "nan", "-NaN", "\u{661}", above,
            String(repeating: "9", count: 39), String(repeating: "0", count: 40), String(repeating: "9", count: 40),
        ]
        for bytes in wrong.map({ decimal($0) }) + [decimal("1", 128), decimal("1", -129), decimal("NaN", .max)] {
            expectCorrupt(bytes)
            let error = #expect(throws: ArchiveError.self) {
                try KeyedUnarchiver(bytes).decode(Decimal.self, forKey: "a")
            }
            #expect(error?.code == .corrupt)
        }
        var graph = ArchivedGraph()
        graph.setRoot(.decimal(digits: "+1", exponent: 0), forKey: "a")
        #expect(throws: ArchiveError.self) { try graph.bytes(format: .compact) }
    }

    @Test("A decimal that Foundation cannot hold is an error, not another number")
    func largestDecimal() throws {
        let bytes = decimal("10", 127)
        #expect(try ArchivedGraph(bytes).roots["a"] == .decimal(digits: "10", exponent: 127))
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver(bytes).decode(Decimal.self, forKey: "a")
        }
        #expect(error?.code == .outOfRange)
    }
}
