// Feeds the compact reader bytes from libFuzzer. Nothing may trap, hang or take memory without bound.

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

final class FuzzNode: ObjectCoding {
    var name: String
    var number: Int
    var next: FuzzNode?
    var children: [FuzzNode]
    var leaf: FuzzLeaf?
    var value: FuzzValue?
    weak var parent: FuzzNode?

    init(_ name: String, _ number: Int, _ children: [FuzzNode]) {
        self.name = name
        self.number = number
        self.children = children
        value = FuzzValue()
        leaf = FuzzLeaf()
        for child in children { child.parent = self }
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        number = try coder.decodeIfPresent(Int.self, forKey: "number") ?? 0
        children = (try? coder.decode([FuzzNode].self, forKey: "children")) ?? []
        next = try coder.decodeIfPresent(FuzzNode.self, forKey: "next")
        leaf = try coder.decodeIfPresent(FuzzLeaf.self, forKey: "leaf")
        value = try coder.decodeIfPresent(FuzzValue.self, forKey: "value")
        try coder.decodeReference(FuzzNode.self, forKey: "parent") { self.parent = $0 }
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(number, forKey: "number")
        try coder.encode(children, forKey: "children")
        try coder.encode(next, forKey: "next")
        try coder.encode(leaf, forKey: "leaf")
        try coder.encode(value, forKey: "value")
        try coder.encodeConditional(parent, forKey: "parent")
    }
}

final class FuzzLeaf: Codable {
    var text = "leaf"
    var again: FuzzValue? = FuzzValue()
}

struct FuzzValue: Codable {
    enum Kind: Codable { case one, two(Int, label: String) }

    var int8: Int8 = -1
    var uint: UInt = .max
    var wide: Int128 = .min
    var float: Float = 1.5
    var double = 2.5
    var flag = true
    var date = Date(timeIntervalSinceReferenceDate: 1)
    var uuid = UUID()
    var url = URL(string: "a", relativeTo: URL(string: "http://b/"))
    var decimal: Decimal = 12.5
    var data = Data(repeating: 7, count: 9)
    var bytes: [UInt8] = [1, 2]
    var names = ["a": [1, 2], "b": []]
    var keys: [Int: Bool] = [1: true]
    var set: Set<String> = ["x"]
    var kind = Kind.two(3, label: "c")
    var list: [Double?] = [nil, 1]
    var twice: Int?? = .some(nil)
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCompactReader(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let graph = try? ArchivedGraph(bytes) {
        guard graph.archiver != nil || graph.objects.allSatisfy({ $0.record != nil }) else {
            fatalError("an object cannot be read although the graph was opened")
        }
        if let again = try? graph.bytes(format: .compact) {
            guard let second = try? ArchivedGraph(again), second == graph else { fatalError("another graph came back") }
        }
    }
    var limits = ArchiveLimits()
    limits.chain = 50
    for limits in [ArchiveLimits(), limits] {
        for type in 0..<5 {
            // Each attempt uses a separate unarchiver, as decoding leaves objects behind.
            guard let unarchiver = try? KeyedUnarchiver(bytes, limits: limits) else { return 0 }
            guard let key = unarchiver.keys.first else { return 0 }
            switch type {
            case 0:
                if let node = try? unarchiver.decode(FuzzNode.self, forKey: key) { write(node) }
            case 1: _ = try? unarchiver.decode([FuzzValue].self, forKey: key)
            case 4:
                var steps = 50
                if let view = try? unarchiver.decode(GraphView<FuzzNode>.self, forKey: key) { read(view, &steps) }
            case 2: _ = try? unarchiver.decode([String: [FuzzLeaf?]].self, forKey: key)
            default: _ = try? unarchiver.decode(Everyone.self, forKey: key)
            }
        }
    }
    return 0
}

/// Reads a node in place, and what it refers to; there may be cycles.
private func read(_ view: GraphView<FuzzNode>, _ steps: inout Int) {
    steps -= 1
    guard steps > 0 else { return }
    for key in ["name", "number", "children", "next", "leaf", "value", "parent", "none"] {
        _ = try? view[key, as: Int.self]
        _ = try? view[key, as: String?.self]
        _ = try? view[key, as: FuzzValue.self]
        _ = try? view[key, as: GraphView<FuzzLeaf>.self]["again", as: GraphView<FuzzValue>.self]["url", as: URL?.self]
        if let node = try? view[key, as: GraphView<FuzzNode>?.self] { read(node, &steps) }
        guard let list = try? view[key, as: GraphList<FuzzNode>.self] else { continue }
        var count = 0
        for node in list {
            count += 1
            read(node, &steps)
        }
        guard count == list.count else { fatalError("a list that was checked ends early") }
    }
    _ = try? view.decoded()
}

/// Archives the decoded value again, which may fail with an error.
private func write(_ node: FuzzNode) {
    if let again = try? KeyedArchiver.archive(node) { _ = try? KeyedUnarchiver.unarchive(FuzzNode.self, from: again) }
}

/// Decodes each kind of value at the same place, as a faulty reader might.
struct Everyone: Decodable {
    init(from decoder: any Decoder) throws {
        if let keyed = try? decoder.container(keyedBy: Keys.self) {
            for key in keyed.allKeys {
                _ = try? keyed.decode(FuzzValue.self, forKey: key)
                _ = try? keyed.decode([Int16].self, forKey: key)
                _ = try? keyed.nestedContainer(keyedBy: Keys.self, forKey: key).allKeys
                if var list = try? keyed.nestedUnkeyedContainer(forKey: key) { drain(&list) }
            }
        } else if var list = try? decoder.unkeyedContainer() {
            drain(&list)
        } else {
            let single = try decoder.singleValueContainer()
            _ = single.decodeNil()
            _ = try? single.decode(Data.self)
            _ = try? single.decode(Set<Int8>.self)
            _ = try? single.decode(FuzzNode.self)
        }
    }

    private func drain(_ list: inout any UnkeyedDecodingContainer) {
        while !list.isAtEnd {
            if (try? list.decode(Everyone.self)) != nil { continue }
            guard (try? list.superDecoder()) != nil else { return }
        }
    }

    struct Keys: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// Writes seed archives into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    let small = FuzzNode("a", 1, [])
    let large = FuzzNode("root", -500, [FuzzNode("left", 1, [small]), FuzzNode("right", 2, [])])
    large.next = small
    small.next = FuzzNode(String(repeating: "x", count: 70), .max, [])
    let seeds: [[UInt8]?] = [
        try? KeyedArchiver.archive(small), try? KeyedArchiver.archive(large),
        try? KeyedArchiver.archive([FuzzValue(), FuzzValue()]),
        try? KeyedArchiver.archive(["k": [FuzzLeaf(), nil]]),
        try? KeyedArchiver.archive([1, 2, 3]), try? KeyedArchiver.archive([[1.5: [Int8(1)]]]),
    ]
    for (index, seed) in seeds.enumerated() {
        if let seed { try? Data(seed).write(to: URL(filePath: "\(directory)/seed\(index)")) }
    }
    return 0
}
