import Foundation
import PortTransport
import Testing

@testable import KeyedArchive

/// A node of random graphs, with every kind of reference to other nodes.
private class RandomNode: ObjectCoding {
    var values: [String: RandomValue] = [:]
    /// Refers only to later nodes: no cycle is decoded by value.
    var children: [RandomNode] = []
    var child: RandomNode?
    var plain: RandomPlain?
    /// Refers to any node; the list of all nodes keeps it alive.
    unowned(unsafe) var back: RandomNode?
    unowned(unsafe) var maybe: RandomNode?
    let number: Int

    init(number: Int) { self.number = number }

    required init(coder: ObjectDecoder) throws {
        number = try coder.decode(Int.self, forKey: "number")
        // Not in the order written.
        try coder.decodeReference(RandomNode.self, forKey: "back") { self.back = $0 }
        values = try coder.decodeIfPresent([String: RandomValue].self, forKey: "values") ?? [:]
        child = try coder.decodeIfPresent(RandomNode.self, forKey: "child")
        children = try coder.decode([RandomNode].self, forKey: "children")
        plain = try coder.decodeIfPresent(RandomPlain.self, forKey: "plain")
        try coder.decodeReference(RandomNode.self, forKey: "maybe") { self.maybe = $0 }
    }

    func encode(with coder: ObjectEncoder) throws {
        if !values.isEmpty { try coder.encode(values, forKey: "values") }
        try coder.encode(children, forKey: "children")
        try coder.encode(child, forKey: "child")
        try coder.encode(number, forKey: "number")
        try coder.encode(back, forKey: "back")
        try coder.encodeConditional(maybe, forKey: "maybe")
        if let plain { try coder.encode(plain, forKey: "plain") }
    }

    class var codingSubclasses: [any ObjectCoding.Type] { [RandomLeaf.self] }
}

private final class RandomLeaf: RandomNode {
    var weight = 0.0

    override init(number: Int) { super.init(number: number) }

    required init(coder: ObjectDecoder) throws {
        weight = try coder.decode(Double.self, forKey: "weight")
        try super.init(coder: coder)
    }

    override func encode(with coder: ObjectEncoder) throws {
        try super.encode(with: coder)
        try coder.encode(weight, forKey: "weight")
    }
}

private final class RandomPlain: Codable {
    var value: RandomValue
    var node: RandomNode?
    init(_ value: RandomValue) { self.value = value }
}

private indirect enum RandomValue: Codable, Equatable {
    case int(Int64), uint(UInt64), double(UInt64), text(String), data(Data), none
    case list([RandomValue]), map([String: RandomValue]), small(Int8, label: String), numbers([Int32]), optional(Int??)

    static func random(using random: inout SeededGenerator, depth: Int = 0) -> RandomValue {
        switch Int.random(in: 0..<(depth < 3 ? 11 : 9), using: &random) {
        case 0: .int(Bool.random(using: &random) ? .random(in: .min ... .max, using: &random) : 3)
        case 1: .uint(.random(in: .min ... .max, using: &random))
        case 2: .double(.random(in: .min ... .max, using: &random))
        case 3:
            .text(
                String(
                    repeating: ["a", "é", "🥪", "\0"].randomElement(using: &random) ?? "",
                    count: .random(in: 0..<90, using: &random)))
        case 4: .data(Data((0..<Int.random(in: 0..<20, using: &random)).map { UInt8($0) }))
        case 5: .none
        case 6: .small(.random(in: .min ... .max, using: &random), label: "l")
        case 7: .numbers((0..<Int.random(in: 0..<5, using: &random)).map { Int32($0) - 2 })
        case 8: .optional([nil, .some(nil), 1].randomElement(using: &random) ?? nil)
        case 9:
            .list((0..<Int.random(in: 0..<4, using: &random)).map { _ in .random(using: &random, depth: depth + 1) })
        default:
            .map(
                Dictionary(
                    (0..<Int.random(in: 0..<4, using: &random)).map {
                        ("k\($0)", .random(using: &random, depth: depth + 1))
                    }, uniquingKeysWith: { a, _ in a }))
        }
    }
}

@Suite("Random graphs")
struct RandomGraphTests {
    @Test(
        "Any graph comes back the same: values, classes, sharing, cycles and conditional objects",
        arguments: [ArchiveFormat.compact, .binary, .xml])
    func roundTripsInRandomGraph(_ format: ArchiveFormat) throws {
        for seed in 0..<150 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let nodes = make(&random)
            let roots = nodes.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
            let archiver = KeyedArchiver(format: format)
            try archiver.encode(roots, forKey: "roots")
            let bytes = try archiver.finish()
            let unarchiver = try KeyedUnarchiver(bytes)
            let copies: [RandomNode]
            do {
                copies = try unarchiver.decode([RandomNode].self, forKey: "roots")
            } catch {
                Issue.record("seed \(seed): \(error)")
                continue
            }
            let same = isSame(roots, copies, arePlainsObjects: format == .compact)
            #expect(same == nil, "seed \(seed)")
            withExtendedLifetime(unarchiver) {}
            let graph = try ArchivedGraph(bytes)
            #expect(try ArchivedGraph(graph.bytes(format: format)) == graph, "seed \(seed)")
            for node in nodes { node.children = [] }
        }
    }

    private func make(_ random: inout SeededGenerator) -> [RandomNode] {
        let count = Int.random(in: 1..<60, using: &random)
        let nodes: [RandomNode] = (0..<count).map {
            if Bool.random(using: &random) { return RandomNode(number: $0) }
            let leaf = RandomLeaf(number: $0)
            leaf.weight = Double.random(in: 0..<1, using: &random)
            return leaf
        }
        var plains: [RandomPlain] = []
        for (index, node) in nodes.enumerated() {
            for name in ["a", "b"] where Bool.random(using: &random) { node.values[name] = .random(using: &random) }
            let later = nodes[(index + 1)...]
            if let child = later.randomElement(using: &random), Bool.random(using: &random) { node.child = child }
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                if let child = later.randomElement(using: &random) { node.children.append(child) }
            }
            if Bool.random(using: &random) { node.back = nodes.randomElement(using: &random) }
            if Bool.random(using: &random) { node.maybe = nodes.randomElement(using: &random) }
            if let plain = plains.randomElement(using: &random), plain.node == nil, Bool.random(using: &random) {
                node.plain = plain
            } else if Bool.random(using: &random) {
                let plain = RandomPlain(.random(using: &random))
                plain.node = later.randomElement(using: &random)
                plains.append(plain)
                node.plain = plain
            }
        }
        return nodes
    }

    /// The first difference between two graphs, compared in parallel; nil if there is none.
    private func isSame(_ a: [RandomNode], _ b: [RandomNode], arePlainsObjects: Bool) -> String? {
        guard a.count == b.count else { return "\(a.count) roots, \(b.count)" }
        var twins: [ObjectIdentifier: ObjectIdentifier] = [:]
        var plainTwins: [ObjectIdentifier: ObjectIdentifier] = [:]
        var waiting: [(RandomNode?, RandomNode?)] = zip(a, b).map { ($0, $1) }
        var written: Set<ObjectIdentifier> = []
        var conditional: [(RandomNode, RandomNode?)] = []
        while let (x, y) = waiting.popLast() {
            guard let x, let y else {
                if x != nil || y != nil { return "a reference is lost" }
                continue
            }
            if let twin = twins[ObjectIdentifier(x)] {
                if twin != ObjectIdentifier(y) { return "node \(x.number) is two" }
                continue
            }
            if twins.values.contains(ObjectIdentifier(y)) { return "node \(y.number) was another" }
            twins[ObjectIdentifier(x)] = ObjectIdentifier(y)
            written.insert(ObjectIdentifier(x))
            if type(of: x) != type(of: y) || x.number != y.number { return "node \(x.number) is of another class" }
            if (x as? RandomLeaf)?.weight != (y as? RandomLeaf)?.weight { return "weight of \(x.number)" }
            if x.values != y.values { return "values of \(x.number): \(x.values) \(y.values)" }
            if x.children.count != y.children.count { return "children of \(x.number)" }
            waiting += zip(x.children, y.children).map { ($0, $1) }
            waiting += [(x.child, y.child), (x.back, y.back), (x.plain?.node, y.plain?.node)]
            if let plain = x.plain, let other = y.plain {
                if plain.value != other.value { return "plain of \(x.number)" }
                let twin = plainTwins[ObjectIdentifier(plain), default: ObjectIdentifier(other)]
                if arePlainsObjects, twin != ObjectIdentifier(other) { return "plain of \(x.number) is two" }
                plainTwins[ObjectIdentifier(plain)] = twin
            } else if x.plain != nil || y.plain != nil {
                return "plain of \(x.number) is lost"
            }
            if let maybe = x.maybe {
                conditional.append((maybe, y.maybe))
            } else if y.maybe != nil {
                return "a conditional object from nowhere"
            }
        }
        for (x, y) in conditional {
            if written.contains(ObjectIdentifier(x)) {
                if twins[ObjectIdentifier(x)] != y.map({ ObjectIdentifier($0) }) { return "conditional \(x.number)" }
            } else if y != nil {
                return "conditional \(x.number) was not written"
            }
        }
        return nil
    }
}
