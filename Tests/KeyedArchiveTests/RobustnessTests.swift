import PortTransport
import Testing

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Broken and hostile archives")
struct RobustnessTests {
    struct Mixed: Codable {
        var values = Everything()
        var figures: [Figure] = [Circle(x: 1, radius: 2), Square(x: 3)]
        var list = Node.list(4)
        var foo: Foo? = Foo("x", 1)
    }

    @Test("An archive truncated anywhere is a thrown error")
    func truncationInRobustness() throws {
        let bytes = try KeyedArchiver.archive(Mixed())
        for length in 0..<bytes.count {
            #expect(throws: ArchiveError.self, "\(length) of \(bytes.count) bytes") {
                try KeyedUnarchiver.unarchive(Mixed.self, from: Array(bytes[..<length]))
            }
        }
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Mixed.self, from: bytes + [0]) }
    }

    @Test("An archive with one byte changed is read or refused, never a trap")
    func mutation() throws {
        let bytes = try KeyedArchiver.archive(Mixed())
        var refused = 0
        for position in 0..<bytes.count {
            for change: UInt8 in [0x01, 0x80, 0xFF, 0x10] {
                var changed = bytes
                changed[position] ^= change
                do { _ = try KeyedUnarchiver.unarchive(Mixed.self, from: changed) } catch is ArchiveError {
                    refused += 1
                }
            }
        }
        #expect(refused > bytes.count)
    }

    @Test("Random bytes after a valid beginning are an error")
    func noise() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            let noise = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(throws: ArchiveError.self) {
                try KeyedUnarchiver.unarchive(Mixed.self, from: CompactFile.magic + noise)
            }
        }
    }

    @Test("Counts beyond the bytes present throw before anything is allocated")
    func counts() throws {
        // A body with one value, a list of 2^40 elements; then the same as string, data, dictionary, packed list and
        // references.
        for tag: [UInt8] in [
            [Tag.list], [Tag.set], [Tag.string], [Tag.bytes], [Tag.map], [Tag.packed, 4], [Tag.references],
        ] {
            let value = tag + [0x80, 0x80, 0x80, 0x80, 0x80, 0x20]
            let body: [UInt8] = [0, UInt8(value.count)] + value
            try body.withUnsafeBytes { bytes in
                let decoder = try ObjectDecoder(bytes: bytes, owner: nil, shapes: [])
                #expect(throws: ArchiveError.self) { try decoder.decodeTop(ValueCodec<[Int]>.of([Int].self)) }
                #expect(throws: ArchiveError.self) { try decoder.decodeTop(ValueCodec<[Foo]>.of([Foo].self)) }
                #expect(throws: ArchiveError.self) { try decoder.decodeTop(ValueCodec<String>.of(String.self)) }
                #expect(throws: ArchiveError.self) { try decoder.decodeTop(ValueCodec<Data>.of(Data.self)) }
                #expect(throws: ArchiveError.self) {
                    try decoder.decodeTop(ValueCodec<[String: Int]>.of([String: Int].self))
                }
            }
        }
        let objects: [UInt8] = [0xFF, 0xFF, 0xFF, 0x7F, 0]
        objects.withUnsafeBytes { bytes in
            _ = #expect(throws: ArchiveError.self) { try ObjectDecoder(bytes: bytes, owner: nil, shapes: []) }
        }
    }

    @Test("A type with more keys than the limit is written with its keys inline, and refused where it was not")
    func keysInRobustness() throws {
        var limits = ArchiveLimits()
        limits.keys = 10
        let value = Everything()
        let inline = try KeyedArchiver.archive(value, limits: limits)
        #expect(try KeyedUnarchiver.unarchive(Everything.self, from: inline, limits: limits) == value)
        let keyed = try KeyedArchiver.archive(value)
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Everything.self, from: keyed, limits: limits)
        }
        #expect(error?.code == .limit)
    }

    @Test("Each limit is enforced when writing and when reading")
    func limitsInRobustness() throws {
        func check<T: Codable>(_ value: T, _ change: (inout ArchiveLimits) -> Void) throws {
            var limits = ArchiveLimits()
            change(&limits)
            var error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(value, limits: limits) }
            #expect(error?.code == .limit)
            let bytes = try KeyedArchiver.archive(value)
            error = #expect(throws: ArchiveError.self) {
                try KeyedUnarchiver.unarchive(T.self, from: bytes, limits: limits)
            }
            #expect(error?.code == .limit)
        }
        try check(String(repeating: "x", count: 1001)) { $0.string = 1000 }
        try check([Foo("a", 1), Foo("b", 2), Foo("c", 3)]) { $0.objects = 2 }
        try check(Array(0..<100)) { $0.collection = 99 }
        try check(Set(0..<100)) { $0.collection = 99 }
        try check(["a": 1, "b": 2]) { $0.collection = 1 }
        try check(Everything()) { $0.shapes = 3 }
        try check([UInt8](repeating: 1, count: 5000)) { $0.bytes = 5000 }
        try check([Foo("a", 1)]) { $0.objects = -1 }
        try check(["a"]) { $0.collection = -1 }
        try check(Point(x: 1, y: 2)) { $0.shapes = -1 }
    }

    @Test("An integer that does not fit, a wrong type and a missing key name the path")
    func pathsInRobustness() throws {
        struct Wide: Codable { var list: [Int] }
        struct Narrow: Codable { var list: [Int8] }
        var error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Narrow.self, from: KeyedArchiver.archive(Wide(list: [1, 2, 300])))
        }
        #expect(error?.description == "root.list[2]: the number does not fit Int8")

        final class Loose: ObjectCoding {
            init() {}
            init(coder: ObjectDecoder) throws {}
            func encode(with coder: ObjectEncoder) throws {
                try coder.encode("x", forKey: "name")
                try coder.encode("four", forKey: "age")
            }
            static let className = "Foo"
        }
        struct Foos: Codable { var foos: [Foo] }
        struct Looses: Codable { var foos: [Loose] }
        error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(
                Foos.self, from: KeyedArchiver.archive(Looses(foos: [Loose(), Loose(), Loose(), Loose()])))
        }
        #expect(error?.description == "root.foos[0].age: expected Int, found String")
        #expect(error?.steps == [.key("root"), .key("foos"), .index(0), .key("age")])

        struct One: Codable { var a = ["k": Point(x: 1, y: 2)] }
        struct Other: Codable {
            struct Three: Codable { var x, z: Int }
            var a: [String: Three]
        }
        error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Other.self, from: KeyedArchiver.archive(One()))
        }
        #expect(error?.description == "root.a.k.z: no value for this key")
        #expect(error?.code == .missingKey)
    }

    @Test("An error of a type's own code is wrapped in an error with its path")
    func foreignErrors() throws {
        struct Picky: Codable {
            struct Refusal: Error {}
            init() {}
            init(from decoder: any Decoder) throws { throw Refusal() }
            func encode(to encoder: any Encoder) throws {}
        }
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive([Picky].self, from: KeyedArchiver.archive([Picky()]))
        }
        #expect(error?.code == .thrownByType)
        #expect(error?.underlying is Picky.Refusal)
        #expect(error?.path == "root[0]")
    }

    @Test("An encoder cannot finish after an error")
    func poisoned() throws {
        struct Unwilling: Codable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let archiver = KeyedArchiver()
        try archiver.encode(1, forKey: "a")
        #expect(throws: ArchiveError.self) { try archiver.encode([Unwilling()], forKey: "b") }
        let error = #expect(throws: ArchiveError.self) { try archiver.finish() }
        #expect(error?.path == "b[0]")
    }

    @Test("A key encoded twice is a thrown error")
    func duplicateKeysInRobustness() throws {
        let archiver = KeyedArchiver()
        try archiver.encode(1, forKey: "a")
        try archiver.encode(2, forKey: "a")
        let error = #expect(throws: ArchiveError.self) { try archiver.finish() }
        #expect(error?.code == .duplicateKey)
    }

    @Test("Other encoders throw a clear error for objects with identity")
    func foreignCoders() {
        let error = #expect(throws: (any Error).self) { try JSONEncoder().encode([Foo("x", 1)]) }
        #expect("\(String(describing: error))".contains("KeyedArchiver"))
    }
}
