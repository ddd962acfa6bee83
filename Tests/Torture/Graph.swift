import KeyedArchive
import PortTransport

/// Objects with shared references and cycles that follow from a seed.
final class Graph: ObjectCoding, Sendable {
    let nodes: [Node]

    final class Node: ObjectCoding, @unchecked Sendable {  // Changed only while it is made.
        var number: UInt64
        var text: String
        var next: Node?
        var other: Node?

        init(_ number: UInt64) {
            self.number = number
            text = String(repeating: "é\(number % 1_000) ", count: Int(number % 5))
        }

        init(coder: ObjectDecoder) throws {
            number = try coder.decode(UInt64.self, forKey: "number")
            text = try coder.decode(String.self, forKey: "text")
            try coder.decodeReference(Node.self, forKey: "next") { self.next = $0 }
            try coder.decodeReference(Node.self, forKey: "other") { self.other = $0 }
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(number, forKey: "number")
            try coder.encode(text, forKey: "text")
            try coder.encode(next, forKey: "next")
            try coder.encode(other, forKey: "other")
        }
    }

    init(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = 1 + random.below(random.below(20) == 0 ? 2_000 : 40)
        nodes = (0..<count).map { _ in Node(random.next()) }
        for node in nodes {
            if random.below(3) > 0 { node.next = nodes[random.below(count)] }
            if random.below(3) > 0 { node.other = nodes[random.below(count)] }
        }
    }

    init(coder: ObjectDecoder) throws {
        nodes = try coder.decode([Node].self, forKey: "nodes")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(nodes, forKey: "nodes")
    }

    deinit {
        // The cycles would leak.
        for node in nodes {
            node.next = nil
            node.other = nil
        }
    }

    /// Compares the graph with that of a seed, references by identity; a difference ends the process.
    func check(_ seed: UInt64) {
        let expected = Graph(seed)
        guard nodes.count == expected.nodes.count else { Verdict.fail("\(nodes.count) nodes of graph \(seed)") }
        let own = Dictionary(uniqueKeysWithValues: nodes.enumerated().map { (ObjectIdentifier($1), $0) })
        let others = Dictionary(uniqueKeysWithValues: expected.nodes.enumerated().map { (ObjectIdentifier($1), $0) })
        func place(_ node: Node?, _ places: [ObjectIdentifier: Int]) -> Int? {
            node.map { places[ObjectIdentifier($0)] ?? -1 }
        }
        guard own.count == nodes.count else { Verdict.fail("a node of graph \(seed) comes twice") }
        for (node, wanted) in zip(nodes, expected.nodes) {
            guard node.number == wanted.number, node.text == wanted.text,
                place(node.next, own) == place(wanted.next, others),
                place(node.other, own) == place(wanted.other, others)
            else { Verdict.fail("a node of graph \(seed)") }
        }
    }
}
