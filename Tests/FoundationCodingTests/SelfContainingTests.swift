import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive
import PortTransport
import TestSupport
import Testing

/// A collection that contains itself, with an object that contains the collection inside or around it.
private struct SelfContaining {
    /// Where the object is that contains the collection.
    enum Form: CaseIterable {
        case around
        case inside
        case insideFirst
        case insideAlone
    }

    static let collections = ["NSMutableArray", "NSMutableDictionary", "NSMutableOrderedSet", "NSMutableSet"]

    let collection: String
    let place: HostilePlace
    let form: Form

    static var all: [SelfContaining] {
        collections.flatMap { collection in
            HostilePlace.allCases.flatMap { place in
                Form.allCases.map { SelfContaining(collection: collection, place: place, form: $0) }
            }
        }
    }

    func graph() throws -> (graph: ArchivedGraph, index: Int) {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let own = graph.add(className: collection, fields: [])
        let outer = try place.wrap(own, in: &graph)
        let elements: [ArchivedValue] =
            switch form {
            case .around: [.reference(own)]
            case .inside: [.reference(own), .reference(outer)]
            case .insideFirst: [.reference(outer), .reference(own)]
            case .insideAlone: [.reference(outer)]
            }
        var fields: [(key: String, value: ArchivedValue)] = []
        switch collection {
        case "NSMutableDictionary":
            var keys: [ArchivedValue] = []
            for number in elements.indices { keys.append(.reference(try graph.add(.value(.string("\(number)"))))) }
            fields = [("NS.keys", .list(keys)), ("NS.objects", .list(elements))]
        case "NSMutableOrderedSet":
            fields = elements.enumerated().map { ("NS.object.\($0.offset)", $0.element) }
        default: fields = [("NS.objects", .list(elements))]
        }
        try graph.replace(own, with: graph.objects[own].with(fields))
        return (graph, form == .around ? outer : own)
    }
}

@Suite("Collections that contain themselves")
struct SelfContainingTests {
    @Test(
        "No collection that contains itself ends the process, whatever contains it", arguments: HostileOpening.allCases)
    func noTrapInSelfContaining(_ way: HostileOpening) async throws {
        let folder = try TemporaryFolder()
        try await Journal.follow(folder.path("journal")) { path, start in
            await #expect(processExitsWith: .success, observing: [\.exitStatus]) {
                [path = path as String, start = start as Int, way = way.rawValue as String] in
                let allowed = try DeclaredClasses.coding().values + [Holder.self]
                let journal = try Journal(path, start: start)
                for (number, form) in SelfContaining.all.enumerated().dropFirst(start) {
                    try journal.run(number + 1, "\(form)") {
                        _ = try HostileOpening(rawValue: way)?.open(form.graph(), allowed, number)
                    }
                }
            } != nil
        }
    }
}
