import Foundation
import Testing

@testable import KeyedArchive

@Suite("Graphs without the program's classes")
struct ArchivedGraphTests {
    @Test("An archive is read without its classes and written back as the same graph")
    func anyArchive() throws {
        let foo = Foo("x", 1)
        let archiver = KeyedArchiver()
        try archiver.encode([foo, Foo("y", 2), foo], forKey: "foos")
        try archiver.encode(Everything(), forKey: "values")
        try archiver.encodeConditional(Node(5), forKey: "never")
        try archiver.encode(Int??.some(nil), forKey: "twice")
        let graph = try ArchivedGraph(archiver.finish())
        #expect(graph.roots.keys == ["foos", "values", "never", "twice"])
        #expect(graph.roots["foos"] == .list([.reference(0), .reference(1), .reference(0)]))
        #expect(graph.roots["never"] == .null)
        #expect(graph.roots["twice"] == .present(.null))
        #expect(graph.objects[1].className == "Foo")
        #expect(graph.objects[1]["name"] == .string("y"))
        let bytes = try graph.bytes(format: .compact)
        #expect(try ArchivedGraph(bytes) == graph)
        let foos = try KeyedUnarchiver(bytes).decode([Foo].self, forKey: "foos")
        #expect(foos[0] === foos[2])
    }

    @Test("A million nodes in a chain are made, written, read, printed, compared and freed")
    func million() throws {
        let count = 1_000_000
        var graph = ArchivedGraph()
        for number in 0..<count {
            let next = number + 1 < count ? ArchivedValue.reference(number + 1) : .null
            _ = graph.add(className: "Node", fields: [("value", .integer(Int64(number))), ("next", next)])
        }
        graph.setRoot(.reference(0), forKey: "root")
        let bytes = try graph.bytes(format: .compact)
        let copy = try ArchivedGraph(bytes)
        #expect(copy == graph)
        #expect(copy.description.hasSuffix("#999999 = Node{value: 999999, next: nil}\n"))
        // Chains of the program's own classes are limited.
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Node.self, from: bytes) }
        #expect(error?.code == .limit || error?.code == .missingKey)
    }

    @Test("A graph made by hand opens as objects")
    func handMadeInArchivedGraph() throws {
        var graph = ArchivedGraph()
        let foo = graph.add(className: "Foo", fields: [("name", .string("n")), ("age", .integer(1))])
        try graph.setValue(.integer(300), forKey: "age", of: foo)
        graph.setRoot(.reference(foo), forKey: "root")
        #expect(try KeyedUnarchiver.unarchive(Foo.self, from: graph.compactBytes()).age == 300)
        #expect(throws: ArchiveError.self) { try graph.setValue(.null, forKey: "age", of: 7) }
        #expect(throws: ArchiveError.self) { try graph.setValue(.null, forKey: "other", of: foo) }
        graph.setRoot(.reference(7), forKey: "root")
        #expect(throws: ArchiveError.self) { try graph.bytes(format: .compact) }
    }

    @Test("Property lists of mixed values come back as they were")
    func propertyListsInArchivedGraph() throws {
        let list: PropertyList = .dictionary([
            "a": .array([.integer(1), .real(1), .bool(true), .string("x")]),
            "b": .data(Data([1])), "c": .date(Date(timeIntervalSinceReferenceDate: 3)), "d": .dictionary([:]),
            "e": .array([]),
        ])
        #expect(try roundTrip(list) == list)
        #expect(try roundTrip(["p": [list]])["p"] == [list])
        var deep = PropertyList.integer(1)
        for _ in 0..<1000 { deep = .array([deep]) }
        #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(deep) }
    }
}
