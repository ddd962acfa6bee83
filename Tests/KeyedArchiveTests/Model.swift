import Testing

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A minimal class.
final class Foo: ObjectCoding {
    var name: String
    var age: Int

    init(_ name: String, _ age: Int) {
        self.name = name
        self.age = age
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        age = try coder.decode(Int.self, forKey: "age")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(age, forKey: "age")
    }
}

final class Bar: ObjectCoding {
    var foos: [Foo]

    init(_ foos: [Foo]) { self.foos = foos }

    init(coder: ObjectDecoder) throws { foos = try coder.decode([Foo].self, forKey: "foos") }

    func encode(with coder: ObjectEncoder) throws { try coder.encode(foos, forKey: "foos") }
}

/// A class with subclasses.
class Figure: ObjectCoding {
    var x = 0

    init(x: Int) { self.x = x }

    required init(coder: ObjectDecoder) throws { x = try coder.decode(Int.self, forKey: "x") }

    func encode(with coder: ObjectEncoder) throws { try coder.encode(x, forKey: "x") }

    class var codingSubclasses: [any ObjectCoding.Type] { [Circle.self, Square.self] }
}

class Circle: Figure {
    var radius: Double

    init(x: Int, radius: Double) {
        self.radius = radius
        super.init(x: x)
    }

    required init(coder: ObjectDecoder) throws {
        radius = try coder.decode(Double.self, forKey: "radius")
        try super.init(coder: coder)
    }

    override func encode(with coder: ObjectEncoder) throws {
        try super.encode(with: coder)
        try coder.encode(radius, forKey: "radius")
    }
}

final class Square: Figure {}

/// A subclass that `Figure` does not list.
final class Hexagon: Figure {}

/// A list node that owns the next node and refers to the one before.
final class Node: ObjectCoding {
    var value: Int
    var next: Node?
    weak var previous: Node?
    weak var watched: Node?

    init(_ value: Int) { self.value = value }

    init(coder: ObjectDecoder) throws {
        value = try coder.decode(Int.self, forKey: "value")
        next = try coder.decodeIfPresent(Node.self, forKey: "next")
        try coder.decodeReference(Node.self, forKey: "previous") { self.previous = $0 }
        try coder.decodeReference(Node.self, forKey: "watched") { self.watched = $0 }
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(value, forKey: "value")
        try coder.encode(next, forKey: "next")
        try coder.encode(previous, forKey: "previous")
        try coder.encodeConditional(watched, forKey: "watched")
    }

    /// A list of `count` nodes.
    static func list(_ count: Int) -> Node {
        let first = Node(0)
        var last = first
        for value in 1..<max(count, 1) {
            let node = Node(value)
            node.previous = last
            last.next = node
            last = node
        }
        return first
    }

    /// Releases a list node by node, without recursion.
    func dismantle() {
        var current: Node? = self
        while let node = current {
            current = node.next
            node.next = nil
        }
    }
}

struct Point: Codable, Hashable {
    var x: Int
    var y: Int
}

struct Everything: Codable, Equatable {
    var bool = true
    var int = Int.min
    var int8 = Int8.min
    var int16 = Int16.max
    var int32 = Int32.min
    var int64 = Int64.max
    var uint = UInt.max
    var uint8 = UInt8.max
    var uint16 = UInt16.max
    var uint32 = UInt32.max
    var uint64 = UInt64.max
    var float = Float.leastNonzeroMagnitude
    var double = -Double.pi
    var string = "smörgåsbord 🥪"
    var long = String(repeating: "long ", count: 100)
    var none: Int?
    var some: Int? = 5
    var data = Data([0, 1, 255])
    var bytes: [UInt8] = [1, 2, 3]
    var date = Date(timeIntervalSinceReferenceDate: 0.1)
    var uuid = UUID()
    var url = URL(string: "b?q=1", relativeTo: URL(string: "https://example.com/a/"))
    var decimal = Decimal(string: "-123456789012345678901234567890.12345678")
    var points = [Point(x: 1, y: 2), Point(x: -3, y: 4)]
    var names = ["a": 1, "b": 2]
    var numbers: [Int: String] = [1: "one", -2: "two"]
    var byPoint = [Point(x: 0, y: 0): ["zero"]]
    var set: Set<String> = ["x", "y"]
    var nested: [[Int?]] = [[1, nil], [], [nil]]
    var empty: [String] = []
    var emptyMap: [String: Int] = [:]
    var emptySet: Set<Int> = []
    var doubles = [1.5, -0.0, Double.infinity]
    var flags = [true, false]
    var kind = Kind.second(text: "t", 4)
    var suit = Suit.hearts
    var tree = Tree.node(.leaf(1), .node(.leaf(2), .leaf(3)))

    enum Kind: Codable, Equatable {
        case first
        case second(text: String, Int)
    }

    enum Suit: String, Codable { case hearts, spades }

    indirect enum Tree: Codable, Equatable {
        case leaf(Int)
        case node(Tree, Tree)
    }
}

/// Archives and unarchives one root.
func roundTrip<T: Codable>(
    _ value: T, format: ArchiveFormat = .compact, classes: ClassRegistry = ClassRegistry()
) throws -> T {
    let bytes = try KeyedArchiver.archive(value, format: format, classes: classes)
    return try KeyedUnarchiver.unarchive(T.self, from: bytes, classes: classes)
}
