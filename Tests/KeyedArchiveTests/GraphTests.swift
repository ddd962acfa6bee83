import Testing

@testable import KeyedArchive

@Suite("Object graphs")
struct GraphTests {
    @Test("An object encoded twice is one object, equal objects stay separate")
    func sharingInGraph() throws {
        let shared = Foo("Juliana", 7)
        let copy = try roundTrip([shared, Foo("Juliana", 7), shared])
        #expect(copy[0] === copy[2])
        #expect(copy[0] !== copy[1])
        #expect(copy[1].name == "Juliana")
    }

    @Test("Lists keep the identity of their objects, whatever their length", arguments: [1, 16, 17, 33, 1000, 5000])
    func listsInGraph(_ count: Int) throws {
        let foos = (0..<count).map { Foo("", $0) }
        let again = Array(repeating: foos[0], count: 2 * count)
        let copy = try roundTrip([foos, again, foos.reversed(), foos])
        #expect(copy[0].map(\.age) == Array(0..<count))
        #expect(copy[1].count == 2 * count && copy[1].allSatisfy { $0 === copy[0][0] })
        #expect(zip(copy[2].reversed(), copy[0]).allSatisfy { $0 === $1 })
        #expect(zip(copy[3], copy[0]).allSatisfy { $0 === $1 })
        // The limit applies to objects, not to references, of which there are more.
        var limits = ArchiveLimits()
        limits.objects = count
        #expect(try KeyedArchiver.archive([foos, again], limits: limits).count > count)
        limits.objects = count - 1
        #expect(throws: ArchiveError.self) { try KeyedArchiver.archive([foos, again], limits: limits) }
    }

    @Test("A back reference is delivered as soon as its object exists")
    func cycle() throws {
        let first = Node.list(3)
        let copy = try roundTrip(first)
        #expect(copy.next?.previous === copy)
        #expect(copy.next?.next?.previous === copy.next)
        #expect(copy.next?.next?.value == 2)
    }

    @Test("An object that refers to itself round-trips")
    func selfReference() throws {
        let node = Node(1)
        node.previous = node
        let copy = try roundTrip(node)
        #expect(copy.previous === copy)
    }

    @Test("A cycle through classes that do not use decodeReference is a thrown error with its path")
    func strongCycle() throws {
        let first = Node(0)
        first.next = Node(1)
        first.next?.next = first
        defer { first.dismantle() }
        let bytes = try KeyedArchiver.archive(first)
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Node.self, from: bytes) }
        #expect(error?.code == .cycle)
        #expect(error?.path == "root.next.next")
    }

    @Test("A conditional object written before the unconditional one is that object")
    func conditionalFirst() throws {
        let target = Foo("x", 1)
        let archiver = KeyedArchiver()
        try archiver.encodeConditional(target, forKey: "maybe")
        try archiver.encode([target], forKey: "list")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        let maybe = try unarchiver.decodeIfPresent(Foo.self, forKey: "maybe")
        #expect(maybe != nil)
        #expect(try unarchiver.decode([Foo].self, forKey: "list")[0] === maybe)
    }

    @Test("A conditional object that nothing else writes is nil")
    func conditionalNever() throws {
        let archiver = KeyedArchiver()
        let target = Foo("x", 1)
        try archiver.encodeConditional(target, forKey: "maybe")
        try archiver.encodeConditional(target, forKey: "again")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        #expect(unarchiver.contains("maybe"))
        #expect(try unarchiver.decodeIfPresent(Foo.self, forKey: "maybe") == nil)
        let error = #expect(throws: ArchiveError.self) { try unarchiver.decode(Foo.self, forKey: "again") }
        #expect(error?.description == "again: expected Foo, found nil")
    }

    @Test("A class that is only Codable keeps identity, together with ObjectCoding ones")
    func codableClasses() throws {
        final class Tag: Codable {
            var label: String
            var foo: Foo
            init(_ label: String, _ foo: Foo) {
                self.label = label
                self.foo = foo
            }
        }
        struct Pair: Codable {
            var a: Tag
            var b: Tag
            var foo: Foo
        }
        let foo = Foo("x", 1)
        let tag = Tag("t", foo)
        let pair = try roundTrip(Pair(a: tag, b: tag, foo: foo))
        #expect(pair.a === pair.b)
        #expect(pair.a.foo === pair.foo)
        #expect(pair.a.label == "t")
    }

    @Test("Codable classes that inherit, or are a list or a single value, come back")
    func codableForms() throws {
        class Base: Codable {
            var a = 1
        }
        final class Derived: Base {
            var b = "b"
            override init() { super.init() }
            enum Keys: CodingKey { case b }
            required init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                b = try container.decode(String.self, forKey: .b)
                try super.init(from: container.superDecoder())
            }
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try super.encode(to: container.superEncoder())
                try container.encode(b, forKey: .b)
            }
        }
        final class List: Codable {
            var items = [1, 2]
            init() {}
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                items = []
                while !container.isAtEnd { items.append(try container.decode(Int.self)) }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                for item in items { try container.encode(item) }
            }
        }
        final class Single: Codable {
            var text = "t"
            init() {}
            init(from decoder: any Decoder) throws {
                text = try decoder.singleValueContainer().decode(String.self)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
        }
        let derived = Derived()
        derived.a = 5
        derived.b = "c"
        let copy = try roundTrip(derived)
        #expect(copy.a == 5 && copy.b == "c")
        let list = List()
        list.items = [7, 8, 9]
        #expect(try roundTrip(list).items == [7, 8, 9])
        let single = Single()
        single.text = "other"
        #expect(try roundTrip([single, single])[1].text == "other")
    }

    @Test("A deep copy shares nothing with the original, and keeps sharing within itself")
    func copiesInGraph() throws {
        let foo = Foo("Nicolas", 3)
        let bar = Bar([foo, foo])
        let copy = try KeyedArchiver.deepCopy(of: bar)
        #expect(copy.foos[0] === copy.foos[1])
        #expect(copy.foos[0] !== foo)
        foo.name = "changed"
        #expect(copy.foos[0].name == "Nicolas")
        let figures: [Figure] = [Hexagon(x: 1), Circle(x: 2, radius: 3)]
        let copied = try KeyedArchiver.deepCopy(of: figures)
        #expect(copied[0] is Hexagon)
        #expect((copied[1] as? Circle)?.radius == 3)
        var limits = ArchiveLimits()
        limits.objects = 2
        #expect(try KeyedArchiver.deepCopy(of: bar, limits: limits).foos.count == 2)
        let error = try #require(throws: ArchiveError.self) {
            try KeyedArchiver.deepCopy(of: Bar([Foo("a", 1), Foo("b", 2)]), limits: limits)
        }
        #expect(error.code == .limit)
    }

    @Test("No object outlives its graph, also after errors")
    func lifetimes() throws {
        final class Counted: ObjectCoding {
            nonisolated(unsafe) static var alive = 0
            var fails: Bool
            init(fails: Bool) {
                self.fails = fails
                Self.alive += 1
            }
            init(coder: ObjectDecoder) throws {
                fails = try coder.decode(Bool.self, forKey: "fails")
                Self.alive += 1
                if fails { throw CancellationError() }
            }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(fails, forKey: "fails") }
            deinit { Self.alive -= 1 }
        }
        do {
            let objects = (0..<10).map { Counted(fails: $0 == 8) }
            let bytes = try KeyedArchiver.archive(objects)
            #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive([Counted].self, from: bytes) }
            #expect(try roundTrip(Array(objects[..<8])).count == 8)
        }
        #expect(Counted.alive == 0)
    }
}
