import Foundation
import Testing

@testable import KeyedArchive

@Suite("Codable classes and attempts that fail")
struct CodableClassTests {
    enum First {
        final class Item: Codable {
            var id: Int
            var children: [Item]
            init(_ id: Int, _ children: [Item] = []) {
                self.id = id
                self.children = children
            }
        }
    }

    enum Second {
        final class Item: Codable {
            var id: Int
            var note: String
        }
    }

    /// An item of the second form, else of the first.
    struct Either: Decodable {
        var first: First.Item?
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do { _ = try container.decode(Second.Item.self) } catch DecodingError.keyNotFound {
                first = try container.decode(First.Item.self)
            }
        }
    }

    @Test("After one class has failed another is tried, and the object is that one everywhere")
    func alternatives() throws {
        let item = First.Item(7)
        let bytes = try KeyedArchiver.archive([item, First.Item(8), item])
        let items = try KeyedUnarchiver.unarchive([Either].self, from: bytes).map(\.first)
        #expect(items.map { $0?.id } == [7, 8, 7])
        #expect(items[0] != nil && items[0] === items[2] && items[0] !== items[1])
    }

    final class Counting: Codable {
        @TaskLocal static var attempts = Attempts()
        final class Attempts: @unchecked Sendable { var count = 0 }
        let next: Counting?
        init(_ next: Counting?) { self.next = next }

        init(from decoder: any Decoder) throws {
            Self.attempts.count += 1
            let container = try decoder.container(keyedBy: AnyCodingKey.self)
            for _ in 0..<3 { _ = try? container.decode(Counting.self, forKey: "next") }
            throw OwnError()
        }
    }

    @Test("An object that cannot be made is tried once for each class, however often it is asked for")
    func attemptsAreCounted() throws {
        let chain = (0..<12).reduce(nil as Counting?) { next, _ in Counting(next) }
        let bytes = try KeyedArchiver.archive(chain)
        let attempts = Counting.Attempts()
        #expect(throws: ArchiveError.self) {
            try Counting.$attempts.withValue(attempts) { try KeyedUnarchiver.unarchive(Counting.self, from: bytes) }
        }
        #expect(attempts.count == 12)
    }

    final class Parent: ObjectCoding {
        var child: Child?
        weak var other: Parent?
        init() {}
        init(coder: ObjectDecoder) throws {
            try coder.decodeReference(Foo.self, forKey: "foo") { _ in Issue.record("delivered to an object that failed")
            }
            _ = try coder.decode(Int.self, forKey: "missing")
        }
        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(Foo("f", 1), forKey: "foo")
        }
    }

    final class Child: ObjectCoding {
        init() {}
        init(coder: ObjectDecoder) throws {}
        func encode(with coder: ObjectEncoder) throws {}
    }

    @Test("Nothing is delivered to an object that could not be made, and what it asked for does not fail the rest")
    func referencesInCodableClass() throws {
        struct Tolerant: Codable {
            var number = 5
            var parent: Parent? = Parent()
            init() {}
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                parent = try? container.decode(Parent.self, forKey: .parent)
                number = try container.decode(Int.self, forKey: .number)
            }
        }
        let back = try roundTrip([Tolerant(), Tolerant()])
        #expect(back.map(\.number) == [5, 5] && back.allSatisfy { $0.parent == nil })
    }

    class Animal: Codable { var id = 1 }
    final class Dog: Animal {
        enum Key: CodingKey { case id, name }
        var name = "n"
        override init() { super.init() }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(id + 1, forKey: .id)
            try container.encode(name, forKey: .name)
        }
        required init(from decoder: any Decoder) throws {
            name = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .name)
            try super.init(from: decoder)
        }
    }

    @Test("A subclass may write a key again", arguments: CodableDoor.allCases)
    func subclassInCodableClass(_ door: CodableDoor) throws {
        let dogs = try door.pass([Dog(), Dog()], as: [Dog].self)
        #expect(dogs.map(\.id) == [2, 2] && dogs.map(\.name) == ["n", "n"])
    }

    @Test("A class may read itself through other types", arguments: CodableDoor.allCases)
    func throughOthers(_ door: CodableDoor) throws {
        struct Content: Codable, Equatable { var a = 1, b = "b" }
        final class Tagged: Codable {
            var content = Content()
            var all: [String: AnyValue] = [:]
            enum AnyValue: Codable, Equatable {
                case number(Int), text(String)
                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    if let number = try? container.decode(Int.self) {
                        self = .number(number)
                    } else {
                        self = .text(try container.decode(String.self))
                    }
                }
                func encode(to encoder: any Encoder) throws {}
            }
            init() {}
            func encode(to encoder: any Encoder) throws {
                try content.encode(to: encoder)
                var container = encoder.container(keyedBy: AnyCodingKey.self)
                try container.encode("tag", forKey: "kind")
            }
            init(from decoder: any Decoder) throws {
                let keys = try decoder.container(keyedBy: AnyCodingKey.self)
                guard try keys.decode(String.self, forKey: "kind") == "tag" else { throw OwnError() }
                content = try decoder.singleValueContainer().decode(Content.self)
                all = try decoder.singleValueContainer().decode([String: AnyValue].self)
                #expect(throws: DecodingError.self) { try decoder.singleValueContainer().decode(Int.self) }
                #expect(throws: DecodingError.self) { try decoder.unkeyedContainer() }
            }
        }
        let back = try door.pass(["t": Tagged()], as: [String: Tagged].self)["t"]
        #expect(back?.content == Content())
        #expect(back?.all == ["kind": .text("tag"), "a": .number(1), "b": .text("b")])
    }

    @Test("Objects of a value that could not be encoded are not in the archive, and can be encoded later")
    func objectsTakenBack() throws {
        struct Holder: Encodable {
            let foos: [Foo]
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyCodingKey.self)
                try container.encode(foos[0], forKey: "first")
                let failing = Written { encoder in
                    var list = encoder.unkeyedContainer()
                    for foo in foos { try list.encode(foo) }
                    try list.encode(foos)
                    try list.encode(Data(repeating: 1, count: 100_000))
                    throw OwnError()
                }
                #expect(throws: OwnError.self) { try container.encode(failing, forKey: "failed") }
                try container.encode(foos[2], forKey: "third")
                try container.encode(foos[1], forKey: "second")
                try container.encode(foos[2], forKey: "again")
            }
        }
        let foos = (0..<20).map { Foo("foo", $0) }
        let bytes = try KeyedArchiver.archive(Holder(foos: foos))
        #expect(try ArchivedGraph(bytes).objects.count == 3)
        #expect(bytes.count < 1_000)
        let back = try KeyedUnarchiver.unarchive([String: Foo].self, from: bytes)
        #expect(back.mapValues(\.age) == ["first": 0, "second": 1, "third": 2, "again": 2])
        #expect(back["third"] === back["again"])
    }

    @Test("A class that encodes itself with encode(with:) and uses a key twice is refused", arguments: [1, 200])
    func duplicateKeysInCodableClass(_ count: Int) throws {
        final class Twice: ObjectCoding {
            var number: Int
            init(_ number: Int) { self.number = number }
            init(coder: ObjectDecoder) throws { number = 0 }
            func encode(with coder: ObjectEncoder) throws {
                try coder.encode(1, forKey: "a\(number)")
                try coder.encode(2, forKey: number == 0 ? "a0" : "b")
            }
        }
        // With many different keys they are written inline.
        let objects = (0..<count).map { Twice(count - 1 - $0) }
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(objects) }
        #expect(error?.code == .duplicateKey)
    }

    @Test("The last value for a key counts also where keys are written inline", arguments: CodableDoor.allCases)
    func inlineKeys(_ door: CodableDoor) throws {
        let values = (0..<60).map { number in
            Written { encoder in
                var container = encoder.container(keyedBy: AnyCodingKey.self)
                for key in 0..<12 { try container.encode([key], forKey: AnyCodingKey(stringValue: "k\(number * key)")) }
                try container.encode([-1], forKey: AnyCodingKey(stringValue: "k\(number)"))
            }
        }
        let back = try door.pass(values, as: [[String: [Int]]].self)
        #expect(back.count == 60)
        for (number, value) in back.enumerated() {
            #expect(value["k\(number)"] == [-1])
            #expect(value["k\(number * 11)"] == (number == 0 ? [-1] : [11]))
        }
    }
}
