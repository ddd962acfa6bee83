import Foundation
import PortTransport
import Testing

@testable import KeyedArchive

@Suite("What generic graphs are checked for when they are opened")
struct GraphCheckTests {
    /// An archive with values of every kind, in objects and at the top level.
    private func archive() throws -> [UInt8] {
        let archiver = KeyedArchiver()
        try archiver.encode(Everything(), forKey: "values")
        try archiver.encode(["ключ": [Data([1, 2]), nil]], forKey: "map")
        try archiver.encode([Figure](arrayLiteral: Circle(x: 1, radius: 2), Square(x: 3)), forKey: "figures")
        try archiver.encode((0..<4).map { Foo(String(repeating: "é", count: 12 * $0), $0) }, forKey: "foos")
        try archiver.encode(Node.list(2), forKey: "list")
        try archiver.encodeConditional(Node(5), forKey: "never")
        try archiver.encode(Int??.some(nil), forKey: "twice")
        return try archiver.finish()
    }

    @Test("The check passes exactly the archives that can be read")
    func agreementInGraphCheck() throws {
        let bytes = try archive()
        var passed = 0
        var refused = 0
        for position in 0..<bytes.count {
            for change: UInt8 in [0x01, 0x41, 0x80] {
                var changed = bytes
                changed[position] ^= change
                for isSound in try compare(changed, position) {
                    if isSound { passed += 1 } else { refused += 1 }
                }
            }
        }
        #expect(passed > bytes.count && refused > bytes.count / 4)
    }

    /// Whether the parts of a file that contain a byte pass the check; expects that reading them agrees.
    private func compare(_ file: [UInt8], _ position: Int) throws -> [Bool] {
        try file.withUnsafeBytes { file in
            guard let (shapes, body) = try? CompactFile.parse(file, limits: ArchiveLimits()) else { return [] }
            var values = ByteSource(body)
            guard let bodies = try? BodyTable(&values, limits: ArchiveLimits()) else { return [] }
            defer { bodies.deallocate() }
            var check = GraphCheck(
                shapes: shapes, objectCount: bodies.count, limits: ArchiveLimits(), bytes: file.count)
            var reader = GraphReader(shapes: shapes, objectCount: bodies.count, limits: ArchiveLimits())
            let place = position - (file.count - body.count)
            var results: [Bool] = []
            func agree(_ isSound: Bool, _ isRead: Bool) throws {
                try #require(isSound == isRead, "byte \(position)")
                results.append(isSound)
            }
            if place < values.end {
                try agree((try? check.roots(values)) != nil, (try? reader.roots(values)) != nil)
            }
            for number in 0..<bodies.count {
                let body = bodies.fixedBody(number)
                guard place < values.position || (body.position..<body.end).contains(place) else { continue }
                try agree((try? check.object(number, body)) != nil, (try? reader.object(number, body)) != nil)
            }
            return results
        }
    }

    @Test("A graph that opens has all its objects, even if a byte was changed")
    func objectsInGraphCheck() throws {
        let bytes = try archive()
        for position in 0..<bytes.count {
            var changed = bytes
            changed[position] ^= 0x09
            guard let graph = try? ArchivedGraph(changed) else { continue }
            #expect(graph.objects.allSatisfy { $0.record != nil }, "byte \(position)")
        }
    }

    @Test("Several threads may read one graph at once")
    func threadsInGraphCheck() async throws {
        let graph = try ArchivedGraph(try archive())
        let expected = Array(graph.objects)
        await withTaskGroup(of: Bool.self) { group in
            for seed: UInt64 in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: seed)
                    let order = (0..<200).flatMap { _ in graph.objects.indices.shuffled(using: &random) }
                    return order.allSatisfy { graph.objects[$0] == expected[$0] }
                }
            }
            for await isSame in group { #expect(isSame) }
        }
    }
}
