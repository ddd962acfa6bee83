import Foundation
import KeyedArchive
import Testing

/// Large `Data` in a graph stays in place in the archive, without visible effects.
@Suite("Large bytes in graphs")
struct LargeBytesTests {
    private static let blob = Data((0..<(64 << 10)).map { UInt8(truncatingIfNeeded: $0 / 7) })

    /// Graphs in both layouts with large bytes in an object, at the top level and in a list there.
    private static func graphs() throws -> [ArchivedGraph] {
        var own = ArchivedGraph()
        let photo = own.add(className: "Photo", fields: [("data", .data(blob)), ("name", .string("photo"))])
        own.setRoot(.reference(photo), forKey: "photo")
        var keyed = ArchivedGraph(archiver: "NSKeyedArchiver")
        let data = try keyed.add(.value(.data(blob)))
        let other = keyed.add(className: "Photo", fields: [("inline", .data(blob)), ("data", .reference(data))])
        keyed.setRoot(.reference(other), forKey: "photo")
        return [own, keyed].map {
            var graph = $0
            graph.setRoot(.data(blob), forKey: "data")
            graph.setRoot(.list([.data(blob), .data(blob)]), forKey: "list")
            return graph
        }
    }

    private static func data(in value: ArchivedValue) -> [Data] {
        switch value {
        case .data(let data): [data]
        case .list(let values): values.flatMap(data)
        default: []
        }
    }

    private static func data(in graph: ArchivedGraph) -> [Data] {
        let values =
            graph.roots.values + graph.objects.flatMap { $0.record?.values ?? [$0.plainValue ?? .null] }
            + graph.sharedValues
        return values.flatMap(data)
    }

    @Test(
        "Bytes taken from a graph are the user's own, also when the graph is gone",
        arguments: [ArchiveFormat.compact, .binary, .xml])
    func ownBytes(format: ArchiveFormat) throws {
        for graph in try Self.graphs() {
            let bytes = try graph.bytes(format: format)
            let before = bytes.map { $0 }
            var taken = try Self.data(in: ArchivedGraph(bytes))
            #expect(taken.count >= 4 && taken.allSatisfy { $0 == Self.blob })
            for index in taken.indices { taken[index][taken[index].startIndex] = 99 }
            #expect(bytes == before, "the archive has changed")
            // The bytes do not change while the graph lives, either.
            let open = try ArchivedGraph(bytes)
            taken = Self.data(in: open)
            for index in taken.indices { taken[index][taken[index].startIndex] = 99 }
            #expect(Self.data(in: open).allSatisfy { $0 == Self.blob })
        }
    }

    @Test("The pieces handed over equal the whole, and an error of the receiver is rethrown")
    func piecesInLargeBytes() throws {
        struct Enough: Error {}
        for graph in try Self.graphs() {
            for source in [ArchiveFormat.compact, .binary, .xml] {
                let read = try ArchivedGraph(graph.bytes(format: source))
                for format in [ArchiveFormat.compact, .binary, .xml] {
                    var bytes: [UInt8] = []
                    try read.write(format: format) { bytes.append(contentsOf: $0) }
                    #expect(try bytes == read.bytes(format: format), "\(source) to \(format)")
                    #expect(try ArchivedGraph(bytes).roots.keys == read.roots.keys)
                    var calls = 0
                    #expect(throws: Enough.self) {
                        try read.write(format: format) { _ in
                            calls += 1
                            throw Enough()
                        }
                    }
                    #expect(calls == 1)
                }
            }
        }
    }

    @Test("A graph that was read and changed is written with its changed and unchanged content")
    func changedInLargeBytes() throws {
        for graph in try Self.graphs() {
            var read = try ArchivedGraph(graph.bytes(format: .binary))
            let before = read
            let index = try #require(read.objects.firstIndex { $0.record?.typeName == "Photo" })
            let other = Data(repeating: 3, count: 40 << 10)
            try read.setValue(.data(other), forKey: "data", of: index)
            #expect(before != read)
            for format in [ArchiveFormat.compact, .binary, .xml] {
                let again = try ArchivedGraph(read.bytes(format: format))
                #expect(again == read, "\(format)")
                #expect(again.objects[index]["data"] == .data(other))
            }
        }
    }
}
