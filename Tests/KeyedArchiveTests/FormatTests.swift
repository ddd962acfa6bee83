import Foundation
import Testing

@testable import KeyedArchive

@Suite("The compact format as documented")
struct FormatTests {
    /// The lines of the example in `ArchiveFormat.md`, without what explains them.
    private func example() throws -> [UInt8] {
        let catalog = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/KeyedArchive/KeyedArchive.docc/ArchiveFormat.md")
        let text = try String(contentsOf: catalog, encoding: .utf8)
        let lines = text[try #require(text.range(of: "## Example")).upperBound...].split(separator: "\n")
        var bytes: [UInt8] = []
        for line in lines where line.hasPrefix("    ") {
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
        #expect(try example() == bytes)
        let list = try KeyedUnarchiver(example()).decode([Foo].self, forKey: "list")
        #expect(list.map(\.age) == [7, -3])
    }

    @Test("Each kind of value has the bytes the table says")
    func table() throws {
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

    @Test("Strings of every short length come back, and bytes that are not UTF-8 are no string")
    func strings() throws {
        func read(_ bytes: [UInt8]) throws -> String {
            try ([Tag.string, UInt8(bytes.count)] + bytes).withUnsafeBytes {
                var source = ByteSource($0)
                return try source.stringValue(Limits())
            }
        }
        for length in 0...40 {
            let ascii = (0..<length).map { UInt8(0x41 + $0) }
            #expect(try Array(read(ascii).utf8) == ascii)
            for character in ["é", "€", "😀", "\u{FFFD}"] {
                let text = String(decoding: ascii, as: UTF8.self) + character
                #expect(try read(Array(text.utf8)) == text)
            }
            // Cut off, not the shortest form, half of a surrogate pair, beyond the last character, a lone continuation: also
            // those that are repaired to as many bytes.
            for wrong: [UInt8] in [
                [0xF0, 0x9F, 0x98], [0xE2, 0x82], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
                [0xF4, 0x90, 0x80, 0x80], [0x80], [0xFF],
            ] {
                #expect(throws: ArchiveError.self) { try read(ascii + wrong) }
                #expect(throws: ArchiveError.self) { try read(wrong + ascii) }
            }
        }
    }

    @Test("A padded number is a number, one of more than 64 bits is not")
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

    /// Expects that a file is refused as corrupt by whoever looks at it without its classes.
    private func expectCorrupt(_ bytes: [UInt8], location: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: ArchiveError.self, sourceLocation: location) { try ArchivedGraph(bytes) }
        #expect(error?.code == .corrupt, "\(String(describing: error))", sourceLocation: location)
    }

    @Test("A file with a shape of records that are single is refused when it is opened")
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
}
