import Foundation
import Testing

@testable import KeyedArchive

@Suite("Containers of Codable types")
struct ContainerTests {
    struct AnyKey: CodingKey, ExpressibleByStringLiteral {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init(stringLiteral value: String) { stringValue = value }
        init?(intValue: Int) { nil }
    }

    /// Writes into several containers alternately, and reads them in another order.
    struct Interleaved: Codable, Equatable {
        var a = 1
        var b = [2, 3]
        var c = "c"
        var list: [[Int]] = [[1], [2, 3], [4]]

        init() {}

        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: AnyKey.self)
            var first = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "first")
            var second = outer.nestedUnkeyedContainer(forKey: "second")
            try first.encode(a, forKey: "a")
            try second.encode(b[0])
            var inner = first.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
            try outer.encode(c, forKey: "c")
            try second.encode(b[1])
            try inner.encode(Point(x: 1, y: 2), forKey: "point")
            try first.encode(a + 1, forKey: "a2")
            var lists = outer.nestedUnkeyedContainer(forKey: "list")
            try lists.encode(list[0])
            var middle = lists.nestedUnkeyedContainer()
            try lists.encode(list[2])
            for value in list[1] { try middle.encode(value) }
            try outer.superEncoder(forKey: "void").singleValueContainer().encodeNothing()
            _ = outer.superEncoder(forKey: "empty")
        }

        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: AnyKey.self)
            c = try outer.decode(String.self, forKey: "c")
            let first = try outer.nestedContainer(keyedBy: AnyKey.self, forKey: "first")
            var second = try outer.nestedUnkeyedContainer(forKey: "second")
            guard try first.decode(Int.self, forKey: "a2") == 2 else { throw CancellationError() }
            b = [try second.decode(Int.self)]
            a = try first.decode(Int.self, forKey: "a")
            let inner = try first.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
            guard try inner.decode(Point.self, forKey: "point") == Point(x: 1, y: 2) else { throw CancellationError() }
            b.append(try second.decode(Int.self))
            guard second.isAtEnd, (try? second.decode(Int.self)) == nil else { throw CancellationError() }
            var lists = try outer.nestedUnkeyedContainer(forKey: "list")
            list = []
            while !lists.isAtEnd { list.append(try lists.decode([Int].self)) }
            guard try outer.decodeNil(forKey: "void"), !outer.contains("other"),
                outer.allKeys.map(\.stringValue).sorted() == ["c", "empty", "first", "list", "second", "void"]
            else { throw CancellationError() }
        }
    }

    @Test("Containers may be written side by side and read in any order")
    func interleavedInContainer() throws {
        var value = Interleaved()
        value.list[1] = [7, 8, 9]
        #expect(try roundTrip([value, value, Interleaved()]) == [value, value, Interleaved()])
    }

    @Test("A value whose first attempts fail can be read another way")
    func attempts() throws {
        struct Either: Codable, Equatable {
            var text: String
            init(_ text: String) { self.text = text }
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(Int.self) {
                    text = "\(number)"
                } else if let list = try? container.decode([Int].self) {
                    text = "\(list)"
                } else {
                    text = try container.decode(String.self)
                }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                if let number = Int(text) { try container.encode(number) } else { try container.encode(text) }
            }
        }
        struct Fields: Codable {
            var a = "x"
            var b = 2
            var c = Either("5")
        }
        struct Trying: Decodable {
            var b: Int
            var c: Either
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: AnyKey.self)
                _ = try? container.decode(Int.self, forKey: "a")
                _ = try? container.decode([Point].self, forKey: "b")
                b = try container.decode(Int.self, forKey: "b")
                c = try container.decode(Either.self, forKey: "c")
            }
        }
        let bytes = try KeyedArchiver.archive([Either("1"), Either("one"), Either("2")])
        #expect(try KeyedUnarchiver.unarchive([Either].self, from: bytes).map(\.text) == ["1", "one", "2"])
        let trying = try KeyedUnarchiver.unarchive([Trying].self, from: KeyedArchiver.archive([Fields(), Fields()]))
        #expect(trying.map(\.b) == [2, 2])
        #expect(trying[1].c.text == "5")
    }

    @Test("A type whose keys always differ is written with inline keys")
    func manyShapes() throws {
        struct Bag: Codable, Equatable {
            var values: [String: Int]
            init(_ values: [String: Int]) { self.values = values }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                for (key, value) in values { try container.encode(value, forKey: AnyKey(stringValue: key)) }
            }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: AnyKey.self)
                values = [:]
                for key in container.allKeys.reversed() {
                    values[key.stringValue] = try container.decode(Int.self, forKey: key)
                }
            }
        }
        let bags = (0..<200).map { number in
            Bag(Dictionary(uniqueKeysWithValues: (0..<(number % 7)).map { ("key\(number)-\($0)", $0) }))
        }
        #expect(try roundTrip(bags) == bags)
        let graph = try ArchivedGraph(KeyedArchiver.archive(bags))
        #expect(try ArchivedGraph(graph.compactBytes()) == graph)
    }

    @Test("Optional fields may be present or absent in each value")
    func optionalsInContainer() throws {
        struct Sparse: Codable, Equatable { var a, b, c, d: Int? }
        let values = (0..<64).map { bits in
            Sparse(
                a: bits & 1 > 0 ? 1 : nil, b: bits & 2 > 0 ? 2 : nil, c: bits & 4 > 0 ? 3 : nil,
                d: bits & 8 > 0 ? 4 : nil)
        }
        #expect(try roundTrip(values) == values)
    }

    @Test("Lists in any form are read as any other sequence of the same elements")
    func listsInContainer() throws {
        let bytes = try KeyedArchiver.archive([3, 1, 2])
        #expect(try KeyedUnarchiver.unarchive(Set<Int>.self, from: bytes) == [1, 2, 3])
        #expect(try KeyedUnarchiver.unarchive([Int8].self, from: bytes) == [3, 1, 2])
        #expect(try KeyedUnarchiver.unarchive([Int?].self, from: bytes) == [3, 1, 2])
        #expect(try KeyedUnarchiver.unarchive([Double].self, from: bytes) == [3, 1, 2])
        #expect(try KeyedUnarchiver.unarchive(ContiguousArray<UInt8>.self, from: bytes) == [3, 1, 2])
        let objects = try KeyedArchiver.archive([Foo("a", 1), Foo("b", 2)])
        #expect(try KeyedUnarchiver.unarchive([Foo?].self, from: objects).map { $0?.age } == [1, 2])
        let data = try KeyedArchiver.archive(Data([1, 2]))
        #expect(try KeyedUnarchiver.unarchive([Int].self, from: data) == [1, 2])
        #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive([UInt8].self, from: KeyedArchiver.archive([1, 300]))
        }
    }

    @Test("C arrays of scalars keep every bit")
    func scalars() throws {
        let signalling = Double(bitPattern: 0x7FF0_0000_0000_0001)
        let values = [signalling, -0.0, .infinity, .leastNonzeroMagnitude]
        final class Samples: ObjectCoding {
            var values: [Double]
            init(_ values: [Double]) { self.values = values }
            init(coder: ObjectDecoder) throws { values = try coder.decodeScalars(Double.self, forKey: "values") }
            func encode(with coder: ObjectEncoder) throws {
                try values.withUnsafeBufferPointer { try coder.encode($0, forKey: "values") }
            }
        }
        #expect(try roundTrip(Samples(values)).values.map(\.bitPattern) == values.map(\.bitPattern))
        let float = Float(bitPattern: 0x7F80_0001)
        #expect(try roundTrip([float])[0].bitPattern == float.bitPattern)
        #expect(try roundTrip(float).bitPattern == float.bitPattern)
        #expect(try roundTrip(signalling).bitPattern == signalling.bitPattern)
    }
}

extension SingleValueEncodingContainer {
    fileprivate func encodeNothing() throws {
        var copy = self
        try copy.encodeNil()
    }
}
