import Foundation
import PortTransport
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Archives as messages")
struct MessageTests {
    /// A finished archive with its bytes in one piece.
    private final class Message {
        let memory: UnsafeMutableRawBufferPointer
        let shapes: [Shape]
        let externals: [AnyObject]

        init(_ encoder: ObjectEncoder) {
            memory = .allocate(byteCount: encoder.byteCount, alignment: 16)
            encoder.copyBytes(to: memory)
            shapes = encoder.shapes
            externals = encoder.externals
        }

        deinit { memory.deallocate() }

        func decoder() throws -> ObjectDecoder {
            try ObjectDecoder(
                bytes: UnsafeRawBufferPointer(memory), owner: self, shapes: shapes, externals: externals)
        }
    }

    @Test("Values without keys come back in order, also from an encoder used again")
    func topsInMessage() throws {
        let encoder = ObjectEncoder()
        for round in 0..<3 {
            encoder.reset()
            let foo = Foo("f", round)
            try encoder.encodeTop(foo, ValueCodec<Foo>.of(Foo.self))
            try encoder.encodeTop(round, ValueCodec<Int>.of(Int.self))
            try encoder.encodeTop([foo], ValueCodec<[Foo]>.of([Foo].self))
            try encoder.finish()
            let decoder = try Message(encoder).decoder()
            let copy = try decoder.decodeTop(ValueCodec<Foo>.of(Foo.self))
            #expect(copy.age == round)
            #expect(try decoder.decodeTop(ValueCodec<Int>.of(Int.self)) == round)
            #expect(try decoder.decodeTop(ValueCodec<[Foo]>.of([Foo].self))[0] === copy)
            #expect(throws: ArchiveError.self) { try decoder.decodeTop(ValueCodec<Int>.of(Int.self)) }
        }
    }

    @Test("A failed message leaves nothing in the next one")
    func reuseInMessage() throws {
        struct Unwilling: Codable {
            var foo: Foo
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(foo)
                throw CancellationError()
            }
        }
        weak var leaked: Foo?
        let encoder = ObjectEncoder()
        do {
            let foo = Foo("x", 1)
            leaked = foo
            #expect(throws: ArchiveError.self) {
                try encoder.encodeTop(Unwilling(foo: foo), ValueCodec<Unwilling>.of(Unwilling.self))
            }
            #expect(throws: ArchiveError.self) { try encoder.finish() }
        }
        encoder.reset()
        #expect(leaked == nil)
        try encoder.encodeTop(1, ValueCodec<Int>.of(Int.self))
        try encoder.finish()
        #expect(encoder.byteCount == 3)
    }

    @Test("A reused encoder and decoder behave like new ones, whatever came before")
    func randomReuse() throws {
        struct Point: Codable, Equatable {
            var x: Int
            var name: String?
        }
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        let (encoder, decoder) = (ObjectEncoder(), ObjectDecoder())

        /// A message of one value, by the used encoder and a new one; read by the used decoder, or as another type.
        func check<T: Codable>(_ value: T, isAbandoned: Bool, _ isSame: (T) -> Bool) throws {
            encoder.reset()
            try encoder.encodeTop(value)
            if isAbandoned { return }
            try encoder.finish()
            let fresh = ObjectEncoder()
            try fresh.encodeTop(value)
            try fresh.finish()
            let (message, expected) = (Message(encoder), Message(fresh))
            #expect(message.memory.elementsEqual(expected.memory), "seed \(seed)")
            #expect(message.shapes == expected.shapes, "seed \(seed)")
            let bytes = UnsafeRawBufferPointer(message.memory)
            func load() throws {
                if message.shapes.isEmpty { return try decoder.load(bytes: bytes) }
                try decoder.load(
                    bytes: bytes, owner: nil, shapes: message.shapes, externals: [], handsOutSlices: false)
            }
            try load()
            #expect(throws: ArchiveError.self, "seed \(seed)") { try decoder.decodeTop(Date.self) }
            decoder.unload()
            try load()
            #expect(isSame(try decoder.decodeTop(T.self)), "seed \(seed)")
            #expect(throws: ArchiveError.self, "seed \(seed)") { try decoder.decodeTop(Int.self) }
            decoder.unload()
        }

        for round in 0..<600 {
            let isAbandoned = Int.random(in: 0..<8, using: &random) == 0
            let length = [0, 1, 7, 124, 125, 126, 127, 128, 200].randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<7, using: &random) {
            case 0: try check(round, isAbandoned: isAbandoned) { $0 == round }
            case 1:
                let text = String(repeating: "x", count: length)
                try check(text, isAbandoned: isAbandoned) { $0 == text }
            case 2:
                let data = Data(repeating: 1, count: length)
                try check(data, isAbandoned: isAbandoned) { $0 == data }
            case 3:
                let point = Point(x: round, name: length == 0 ? nil : "p")
                try check(point, isAbandoned: isAbandoned) { $0 == point }
            case 4:
                let foos = (0..<length).map { Foo("f\($0)", $0) }
                try check(foos + foos, isAbandoned: isAbandoned) { read in
                    read.count == 2 * length && (0..<length).allSatisfy { read[$0] === read[$0 + length] }
                }
            case 5:
                var map: [String: Double] = [:]
                for number in 0..<length { map["\(number)"] = Double(number) }
                try check(map, isAbandoned: isAbandoned) { $0 == map }
            default: try check(Bool?.none, isAbandoned: isAbandoned) { $0 == nil }
            }
        }
    }

    @Test("A message defines the shapes of its own values, not those predicted from other messages")
    func ownShapes() throws {
        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Entry: Encodable {
            var keys: [String]
            var inner: [Entry] = []
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                for key in keys { try container.encode(inner, forKey: Key(stringValue: key)) }
            }
        }
        let encoder = ObjectEncoder()
        func keys(of entries: [Entry]) throws -> [[String]] {
            encoder.reset()
            for entry in entries { try encoder.encodeTop(entry, ValueCodec<Entry>.of(Entry.self)) }
            try encoder.finish()
            return encoder.shapes.map(\.keyNames)
        }
        #expect(try keys(of: [Entry(keys: ["secret"])]) == [["secret"]])
        #expect(try keys(of: [Entry(keys: ["a", "b"])]) == [["a", "b"]])
        #expect(try keys(of: [Entry(keys: ["a"])]) == [["a"]])
        #expect(try keys(of: [Entry(keys: ["a"]), Entry(keys: ["a"])]) == [["a"]])
        #expect(try keys(of: [Entry(keys: [])]) == [[]])
        #expect(try keys(of: [Entry(keys: ["b"], inner: [Entry(keys: []), Entry(keys: ["b"])])]) == [[], ["b"]])
    }

    @Test("Large data is not copied when written, and is a slice when read")
    func blobs() throws {
        let size = 64 << 20
        let data = Data(count: size)
        let encoder = ObjectEncoder()
        try encoder.encodeTop(["k": [data]], ValueCodec<[String: [Data]]>.of([String: [Data]].self))
        try encoder.encodeTop(7, ValueCodec<Int>.of(Int.self))
        try encoder.finish()
        let address = data.withUnsafeBytes { $0.baseAddress }
        var seen = false
        var total = 0
        encoder.forEachSegment {
            if $0.count == size { seen = $0.baseAddress == address }
            total += $0.count
        }
        #expect(seen)
        #expect(total == encoder.byteCount)
        let segments = encoder.takeSegments()
        encoder.reset()
        var joined = Data()
        for segment in segments { joined.append(contentsOf: segment.bytes) }
        let owner = NSMutableData(data: joined)
        let decoder = try ObjectDecoder(
            bytes: UnsafeRawBufferPointer(start: owner.bytes, count: joined.count), owner: owner, shapes: [])
        let read = try decoder.decodeTop(ValueCodec<[String: [Data]]>.of([String: [Data]].self))
        #expect(read["k"]?[0].count == size)
        read["k"]?[0].withUnsafeBytes { bytes in
            let start = UnsafeRawPointer(owner.bytes)
            #expect(bytes.baseAddress.map { $0 >= start && $0 < start + joined.count } == true)
        }
        #expect(try decoder.decodeTop(ValueCodec<Int>.of(Int.self)) == 7)
    }

    @Test("A slice keeps the archive alive, and a changed one is a copy")
    func slicesInMessage() throws {
        final class Owner {
            let bytes: UnsafeMutableRawBufferPointer
            nonisolated(unsafe) static var alive = 0
            init(_ encoder: ObjectEncoder) {
                bytes = .allocate(byteCount: encoder.byteCount, alignment: 16)
                encoder.copyBytes(to: bytes)
                Self.alive += 1
            }
            deinit {
                bytes.deallocate()
                Self.alive -= 1
            }
        }
        let encoder = ObjectEncoder()
        let data = Data(repeating: 5, count: 20 << 10)
        try encoder.encodeTop(data, ValueCodec<Data>.of(Data.self))
        try encoder.finish()
        var slice: Data?
        do {
            let owner = Owner(encoder)
            let decoder = try ObjectDecoder(bytes: UnsafeRawBufferPointer(owner.bytes), owner: owner, shapes: [])
            slice = try decoder.decodeTop(ValueCodec<Data>.of(Data.self))
            slice?[0] = 9
            #expect(slice?[0] == 9)
            #expect(owner.bytes.contains(9) == false)
            let decoderAgain = try ObjectDecoder(
                bytes: UnsafeRawBufferPointer(owner.bytes), owner: owner, shapes: [])
            slice = try decoderAgain.decodeTop(ValueCodec<Data>.of(Data.self))
            #expect(slice == data)
        }
        #expect(Owner.alive == 1)
        slice = nil
        #expect(Owner.alive == 0)
    }

    @Test("Changing data from a whole archive changes no archive")
    func valueSemantics() throws {
        let bytes = try KeyedArchiver.archive(Data(repeating: 5, count: 1 << 16))
        let before = bytes
        let unarchiver = try KeyedUnarchiver(bytes)
        var data = try unarchiver.decode(Data.self, forKey: "root")
        data[0] = 9
        #expect(bytes == before)
        #expect(try unarchiver.decode(Data.self, forKey: "root")[0] == 5)
        final class Twice: ObjectCoding {
            var data: Data
            init() { data = Data(repeating: 5, count: 1 << 16) }
            init(coder: ObjectDecoder) throws {
                data = try coder.decode(Data.self, forKey: "data")
                data[0] = 9
                data = try coder.decode(Data.self, forKey: "data")
            }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(data, forKey: "data") }
        }
        #expect(try KeyedArchiver.deepCopy(of: Twice()).data[0] == 5)
    }

    final class Remote: _ExternallyCodable {
        func _external(for owner: AnyObject?) throws -> _ExternalValue { .object(self) }
        static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
            guard let value = object as? Self else { throw ArchiveError(.typeMismatch, "another object") }
            return value
        }
        init() {}
        init(from decoder: any Decoder) throws { throw CancellationError() }
        func encode(to encoder: any Encoder) throws { throw CancellationError() }
    }

    @Test("Objects by reference are stored in a table, each once, and never in a file")
    func externals() throws {
        let remote = Remote()
        let encoder = ObjectEncoder()
        let codec = ValueCodec<[Remote?]>.of([Remote?].self)
        #expect(throws: ArchiveError.self) { try encoder.encodeTop([remote], codec) }
        encoder.reset()
        encoder.allowsExternals = true
        try encoder.encodeTop([remote, nil, Remote(), remote], codec)
        try encoder.finish()
        #expect(encoder.externals.count == 2)
        let read = try Message(encoder).decoder().decodeTop(codec)
        #expect(read[0] === remote && read[3] === remote && read[1] == nil)
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(remote) }
        #expect(error?.message == "objects by reference can only be sent over a connection")
    }

    /// An object that can be archived, and travels by reference if possible.
    final class Both: ObjectCoding, _ExternallyCodable {
        func _external(for owner: AnyObject?) throws -> _ExternalValue { .object(self) }
        static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
            guard let value = object as? Self else { throw ArchiveError(.typeMismatch, "another object") }
            return value
        }
        init() {}
        init(coder: ObjectDecoder) throws {}
        func encode(with coder: ObjectEncoder) throws {}
    }

    final class Holder: ObjectCoding {
        let number: Int
        let both: Both
        init(_ both: Both) {
            number = 7
            self.both = both
        }
        init(coder: ObjectDecoder) throws {
            number = try coder.decode(Int.self, forKey: "number")
            both = try coder.decode(Both.self, forKey: "both")
        }
        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(number, forKey: "number")
            try coder.encode(both, forKey: "both")
        }
    }

    @Test("An object decodes a member by reference whose class is also ObjectCoding")
    func externalMember() throws {
        let both = Both()
        let encoder = ObjectEncoder()
        encoder.allowsExternals = true
        let codec = ValueCodec<Holder>.of(Holder.self)
        try encoder.encodeTop(Holder(both), codec)
        try encoder.finish()
        let read = try Message(encoder).decoder().decodeTop(codec)
        #expect(read.both === both && read.number == 7)
    }

    @Test("A shape's definition is read back as the same shape")
    func shapesInMessage() throws {
        let shape = Shape(name: "Fü", version: -3, kind: .object, layout: .keyed, keys: ["a", "b", ""])
        var offset = 2
        let read = try ([0, 0] + shape.definition + [7]).withUnsafeBytes {
            try Shape.parse($0, at: &offset, limits: ArchiveLimits())
        }
        #expect(read == shape)
        #expect(read.hashValue == shape.hashValue)
        #expect(offset == 2 + shape.definition.count)
        let twice = Shape(name: "", version: 0, kind: .record, layout: .keyed, keys: ["a", "a"])
        offset = 0
        #expect(throws: ArchiveError.self) {
            try twice.definition.withUnsafeBytes { try Shape.parse($0, at: &offset, limits: ArchiveLimits()) }
        }
    }

    @Test("A type that is not Codable has a codec that throws")
    func notCodable() {
        struct Opaque {}
        let encoder = ObjectEncoder()
        #expect(throws: ArchiveError.self) { try encoder.encodeTop(Opaque(), ValueCodec<Opaque>.of(Opaque.self)) }
    }
}
