import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Values nested as deep as the limits allow")
struct NestingTests {
    /// Two levels in an archive: its case, and the case's values.
    private indirect enum Nest: Codable, Equatable, Sendable {
        case end
        case more(Nest)

        static func levels(_ count: Int) -> Nest { (1..<count).reduce(.end) { nest, _ in .more(nest) } }
    }

    private struct Record: Codable, Equatable, Sendable {
        var inner: [Record]
        var text: String

        static func levels(_ count: Int) -> Record {
            // The list is a level, too.
            (1..<(count / 2)).reduce(Record(inner: [], text: "0")) { Record(inner: [$0], text: "\($1)") }
        }
    }

    private static func dictionaries(_ count: Int) -> PropertyList {
        (0..<count).reduce(.integer(1)) { list, level in level % 2 == 0 ? .array([list]) : .dictionary(["k": list]) }
    }

    private static let most = ArchiveLimits().depth

    /// Expects that a value is the same after it was written and read on a small stack.
    private func expectRoundTrip<T: Codable & Equatable & Sendable>(_ value: T) throws {
        try onThread(stack: 512 << 10) {
            for format in [ArchiveFormat.compact, .binary, .xml] {
                let bytes = try KeyedArchiver.archive(value, format: format)
                #expect(try KeyedUnarchiver.unarchive(T.self, from: bytes) == value, "\(format)")
            }
        }
    }

    private func expectRefusal<T: Codable & Sendable>(_ value: T) throws {
        try onThread(stack: 512 << 10) {
            for format in [ArchiveFormat.compact, .binary, .xml] {
                let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(value, format: format) }
                #expect(error?.code == .limit && error?.message == "values nested deeper than 512")
            }
        }
    }

    @Test("512 values of an indirect enumeration pass through each format on a small stack, and 513 are refused")
    func enumerations() throws {
        #expect(Self.most == 512)
        try expectRoundTrip(Nest.levels(512))
        try expectRefusal(Nest.levels(513))
    }

    @Test("512 lists and structures, or lists and dictionaries, pass through each format, and more are refused")
    func othersInNesting() throws {
        try expectRoundTrip(Record.levels(512))
        try expectRefusal(Record.levels(516))
        try expectRoundTrip(Self.dictionaries(512))
        try expectRefusal(Self.dictionaries(513))
    }

    @Test("An object inside of a deep value is read, and refers to its own values and objects")
    func objectsInNesting() throws {
        final class Leaf: ObjectCoding {
            let nest: Nest
            let next: Leaf?
            init(_ nest: Nest, _ next: Leaf?) { (self.nest, self.next) = (nest, next) }
            init(coder: ObjectDecoder) throws {
                nest = try coder.decode(Nest.self, forKey: "nest")
                next = try coder.decodeIfPresent(Leaf.self, forKey: "next")
            }
            func encode(with coder: ObjectEncoder) throws {
                try coder.encode(nest, forKey: "nest")
                try coder.encode(next, forKey: "next")
            }
        }
        indirect enum Tree: Codable {
            case leaf(Leaf)
            case more(Tree)
        }
        try onThread(stack: 512 << 10) {
            for depth in [10, 60, 70, 130, 400] {
                var tree = Tree.leaf(Leaf(.levels(100), Leaf(.levels(3), nil)))
                for _ in 0..<depth { tree = .more(tree) }
                for format in [ArchiveFormat.compact, .binary] {
                    var copy = try KeyedUnarchiver.unarchive(
                        Tree.self, from: KeyedArchiver.archive(tree, format: format))
                    var count = 0
                    while case .more(let next) = copy {
                        copy = next
                        count += 1
                    }
                    guard case .leaf(let leaf) = copy else { return }
                    #expect(count == depth && leaf.nest == .levels(100) && leaf.next?.nest == .levels(3))
                }
            }
        }
    }

    @Test("Nested containers in one value are bounded as well")
    func containers() throws {
        struct Nested: Codable {
            struct Key: CodingKey {
                var stringValue = "k"
                var intValue: Int? { nil }
                init() {}
                init?(stringValue: String) {}
                init?(intValue: Int) { nil }
            }
            let count: Int

            init(_ count: Int) { self.count = count }

            init(from decoder: any Decoder) throws {
                var container = try decoder.container(keyedBy: Key.self)
                var count = 0
                while container.contains(Key()) {
                    container = try container.nestedContainer(keyedBy: Key.self, forKey: Key())
                    count += 1
                }
                self.count = count
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                for _ in 0..<count { container = container.nestedContainer(keyedBy: Key.self, forKey: Key()) }
            }
        }
        try onThread(stack: 512 << 10) {
            for format in [ArchiveFormat.compact, .binary, .xml] {
                for count in [1, 100, 1000] {
                    let bytes = try KeyedArchiver.archive(Nested(count), format: format)
                    #expect(try KeyedUnarchiver.unarchive(Nested.self, from: bytes).count == count)
                }
                let error = #expect(throws: ArchiveError.self) {
                    try KeyedArchiver.archive(Nested(2000), format: format)
                }
                #expect(error?.code == .limit)
            }
        }
    }

    @Test("Generic graphs of deep values are read, compared, shown and written on a small stack")
    func graphsInNesting() throws {
        try onThread(stack: 512 << 10) {
            for bytes in [
                try KeyedArchiver.archive(Nest.levels(512)), try KeyedArchiver.archive(Self.dictionaries(512)),
            ] {
                let graph = try ArchivedGraph(bytes)
                #expect(try ArchivedGraph(graph.bytes(format: .compact)) == graph)
                #expect(try graph.hashValue == ArchivedGraph(bytes).hashValue)
                // What is nested very deep is not shown.
                #expect(graph.description.contains("…") && graph.roots.description.count > 100)
                let binary = try graph.bytes(format: .binary)
                #expect(try ArchivedGraph(ArchivedGraph(binary).bytes(format: .xml)) == ArchivedGraph(binary))
            }
        }
    }

    @Test("Many values at the level that needs another stack are read, or refused without much work")
    func manySegments() throws {
        // Lists in lists, and in the innermost one many that are one level deeper.
        func bytes(levels: Int, lists: Int) -> [UInt8] {
            var content = [[UInt8]](repeating: [Tag.list, 1], count: levels - 1).flatMap(\.self)
            content.append(Tag.list)
            content += [0x80 | UInt8(lists & 0x7F), 0x80 | UInt8(lists >> 7 & 0x7F), UInt8(lists >> 14)]
            content += [[UInt8]](repeating: [Tag.list, 1, 7], count: lists).flatMap(\.self)
            return HandMade.compact(content)
        }
        let few = bytes(levels: 64, lists: 1000)
        func read(_ bytes: [UInt8]) throws -> PropertyList {
            try KeyedUnarchiver(bytes).decode(PropertyList.self, forKey: "a")
        }
        let value = try read(few)
        #expect(try KeyedUnarchiver.unarchive(PropertyList.self, from: KeyedArchiver.archive(value)) == value)
        _ = try ArchivedGraph(few)
        let many = bytes(levels: 64, lists: 200_000)
        var error = #expect(throws: ArchiveError.self) { try read(many) }
        #expect(error?.code == .limit && error?.message == "too many values nested too deep")
        // A graph's levels begin with the record at the top.
        error = #expect(throws: ArchiveError.self) {
            _ = try ArchivedGraph(bytes(levels: 62, lists: 200_000)).objects.count
        }
        #expect(error?.code == .limit && error?.message == "too many values nested too deep")
        // The same one level higher takes no more stacks.
        _ = try read(bytes(levels: 50, lists: 200_000))
    }
}
