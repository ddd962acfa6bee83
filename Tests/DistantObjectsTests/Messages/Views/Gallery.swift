import DistantObjects
import Synchronization

/// The interface of a `Gallery`: both sides decide for themselves whether they name a class or a view of it.
struct GalleryInterface: Interface {
    let sum = Signature<Int, GraphView<Bar>>("sum")
    let sumOfObjects = Signature<Int, GraphView<Bar>>("sumOfObjects")
    let make = Signature<GraphView<Bar>, Int>("make")
    let makeView = Signature<GraphView<Bar>, Int>("makeView")
}

/// A group of foos and an object by reference.
final class Warded: ObjectCoding {
    let foo: Foo
    let again: Foo
    let guardian: DistantObject

    init(_ foo: Foo, _ guardian: DistantObject) {
        (self.foo, again, self.guardian) = (foo, foo, guardian)
    }

    init(coder: ObjectDecoder) throws {
        foo = try coder.decode(Foo.self, forKey: "foo")
        again = try coder.decode(Foo.self, forKey: "again")
        guardian = try coder.decode(DistantObject.self, forKey: "guardian")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(foo, forKey: "foo")
        try coder.encode(again, forKey: "again")
        try coder.encode(guardian, forKey: "guardian")
    }
}

/// An object whose methods take views and objects.
final class Gallery: Vendable, Implements {
    typealias I = GalleryInterface

    let kept = Mutex<[GraphView<Bar>]>([])
    let runs = Mutex(0)

    static var messages: MessageTable<Gallery> {
        Message("sum", Gallery.sum)
        Message("sumOfObjects", Gallery.sumOfObjects)
        Message("sumLater", Gallery.sumLater)
        Message("make", Gallery.make)
        Message("makeView", Gallery.makeView)
        Message("keep", Gallery.keep)
        Message("give", Gallery.give)
        Message("letGo", Gallery.letGo)
        Message("ask", Gallery.ask)
        Message("number", Gallery.number)
    }

    static func bar(_ count: Int) -> Bar { Bar((0..<count).map { Foo(name: "name \($0)", age: $0) }) }

    static func sum(of bar: GraphView<Bar>) throws -> Int {
        var sum = 0
        for foo in try bar["foos", as: GraphList<Foo>.self] { sum += try foo["age"] }
        return sum
    }

    func sum(_ bar: GraphView<Bar>) throws -> Int {
        runs.withLock { $0 += 1 }
        return try Self.sum(of: bar)
    }

    func sumOfObjects(_ bar: Bar) -> Int { bar.foos.reduce(0) { $0 + $1.age } }

    /// Reads the view in several tasks at a time, after its message.
    func sumLater(_ bar: GraphView<Bar>) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try Self.sum(of: bar) } }
            return try await group.reduce(0, +)
        }
    }

    func make(_ count: Int) -> Bar { Self.bar(count) }
    func makeView(_ count: Int) -> GraphView<Bar> { GraphView(Self.bar(count)) }
    func keep(_ bar: GraphView<Bar>) -> Int {
        kept.withLock { kept in
            kept.append(bar)
            return kept.count
        }
    }
    /// A view of a message that came.
    func give(_ index: Int) -> GraphView<Bar> { kept.withLock { $0[index] } }
    func letGo() { kept.withLock { $0 = [] } }
    func number(_ number: GraphView<Int>, _ names: [GraphView<Foo>?]) throws -> Int {
        try number.decoded() + names.count
    }

    func ask(_ warded: GraphView<Warded>) async throws -> Int {
        guard try warded["foo", as: GraphView<Foo>.self] == warded["again"] else { return -1 }
        return try await warded["guardian", as: DistantObject.self].count()
    }
}
