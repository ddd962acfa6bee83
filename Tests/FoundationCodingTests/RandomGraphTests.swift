import Foundation
import FoundationCoding
import KeyedArchive
import PortTransport
import TestSupport
import Testing

/// Makes a graph of nodes of two classes: with sharing, cycles, conditional references and values of all kinds.
private func randomGraph(_ random: inout SeededGenerator) -> [Node] {
    let nodes = (0..<Int.random(in: 1...20, using: &random)).map { number -> Node in
        guard Bool.random(using: &random) else { return Node("n\(number)") }
        let node = SpecialNode("s\(number)")
        node.extra = number
        return node
    }
    for node in nodes {
        if Bool.random(using: &random) { node.next = nodes.randomElement(using: &random) }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            // Children are later in the list: a chain of them never leads back to its beginning.
            guard let own = nodes.firstIndex(of: node), own + 1 < nodes.count else { continue }
            node.children.add(nodes[Int.random(in: (own + 1)..<nodes.count, using: &random)])
        }
        node.parent = Bool.random(using: &random) ? nodes.randomElement(using: &random) : nil
        let values = NSMutableArray()
        for _ in 0..<Int.random(in: 0...4, using: &random) { values.add(randomValue(&random, 0)) }
        node.values = values
    }
    return nodes
}

private func randomValue(_ random: inout SeededGenerator, _ depth: Int) -> NSObject {
    switch Int.random(in: 0..<(depth < 3 ? 15 : 12), using: &random) {
    case 0: return NSNumber(value: Bool.random(using: &random))
    case 1: return NSNumber(value: Int64.random(in: .min ... .max, using: &random))
    case 2: return NSNumber(value: UInt64.max - UInt64.random(in: 0...5, using: &random))
    case 3: return NSNumber(value: [0, 1, -0.5, .nan, .infinity, 1e300].randomElement(using: &random) ?? 0)
    case 4: return NSNumber(value: Float.random(in: -1...1, using: &random))
    case 5: return ["", "a", "é🎉", "$null", "same"].randomElement(using: &random).map { $0 as NSString } ?? ""
    case 6: return NSMutableString(string: "m\(Int.random(in: 0...9, using: &random))")
    case 7: return NSData(data: Data((0..<Int.random(in: 0...40, using: &random)).map { UInt8($0) }))
    case 8: return NSDate(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &random))
    case 9: return NSNull()
    case 10: return NSURL(fileURLWithPath: "/a/\(Int.random(in: 0...9, using: &random))")
    case 11: return NSIndexSet(indexesIn: NSRange(location: Int.random(in: 0...99, using: &random), length: 4))
    case 12:
        let array = NSMutableArray()
        for _ in 0..<Int.random(in: 0...3, using: &random) { array.add(randomValue(&random, depth + 1)) }
        return array
    case 13:
        let dictionary = NSMutableDictionary()
        for number in 0..<Int.random(in: 0...3, using: &random) {
            dictionary["k\(number)"] = randomValue(&random, depth + 1)
        }
        return dictionary
    default: return NSSet(array: (0..<Int.random(in: 0...3, using: &random)).map { "e\($0)" })
    }
}

/// A graph as text, with nodes numbered in the order visited: equal texts mean graphs of the same structure.
private func text(_ root: Node) -> String {
    var numbers: [ObjectIdentifier: Int] = [:]
    var order: [Node] = []
    func number(_ node: Node?) -> String {
        guard let node else { return "-" }
        if let known = numbers[ObjectIdentifier(node)] { return "\(known)" }
        numbers[ObjectIdentifier(node)] = order.count
        order.append(node)
        return "\(order.count - 1)"
    }
    _ = number(root)
    var lines: [String] = []
    var next = 0
    while next < order.count {
        let node = order[next]
        let children = node.children.compactMap { $0 as? Node }.map { number($0) }.joined(separator: ",")
        let extra = (node as? SpecialNode)?.extra ?? -1
        lines.append(
            "\(node.name) \(extra) \(number(node.next)) \(number(node.parent)) [\(children)] "
                + CanonicalText.text(node.values))
        next += 1
    }
    return lines.joined(separator: "\n")
}

@Suite("Random graphs")
struct RandomGraphTests {
    @Test("Each comes back with the same shape and values", arguments: SeedTests.formats)
    func roundTripInRandomGraph(format: ArchiveFormat) throws {
        let first = TestSeed.next()
        var whole = 0
        for seed in first..<first + 100 {
            var random = SeededGenerator(seed: seed)
            let nodes = randomGraph(&random)
            defer { cut(nodes) }
            let root = nodes[0]
            // A node that only parent references lead to is conditional and may be lost, so all nodes are archived with
            // the root.
            let list = NSMutableArray()
            for node in nodes { list.add(node) }
            let data = try NSCodingArchiver.archivedData(withRootObject: list, format: format)
            do {
                let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
                let back = unarchiver.decodeArrayOfObjects(ofClass: Node.self, forKey: "root")
                if let error = unarchiver.error as? ArchiveError {
                    // A child that is only reached through a parent's `next` may lead back to the parent while that is
                    // being made.
                    guard error.code == .cycle else { throw error }
                    continue
                }
                let copy = try #require(back)
                #expect(text(copy[0]) == text(root), "seed \(seed), \(format)")
                cut(copy)
                whole += 1
            } catch {
                Issue.record("seed \(seed), \(format): \(error)")
            }
        }
        #expect(whole >= 20)
    }

    @Test("A conditional parent that nothing else archives is nil, in each format", arguments: SeedTests.formats)
    func lostParent(format: ArchiveFormat) throws {
        let (parent, child) = (Node("parent"), Node("child"))
        child.parent = parent
        let data = try NSCodingArchiver.archivedData(withRootObject: child, format: format)
        let back = try #require(try NSCodingUnarchiver.unarchivedObject(ofClass: Node.self, from: data))
        #expect(back.name == "child")
        #expect(back.parent == nil)
        withExtendedLifetime(parent) {}
    }

    /// Breaks the cycles.
    private func cut(_ nodes: [Node]) {
        for node in nodes {
            node.next = nil
            node.children.removeAllObjects()
        }
    }
}
