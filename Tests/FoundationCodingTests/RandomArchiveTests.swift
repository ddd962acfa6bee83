import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive
import PortTransport
import TestSupport
import Testing

/// Archives of Foundation's objects, changed at random.
private struct RandomArchive {
    private let samples: [ClassSample]
    private let names: [String]

    init() throws {
        samples = try ClassSamples.all()
        names = (ClassList.made + ClassList.refused).compactMap { name in
            NSClassFromString(name).map { NSStringFromClass($0) }
        }
    }

    /// A graph of which one to three objects are changed, and the object to open.
    func next(_ random: inout SeededGenerator) throws -> (graph: ArchivedGraph, index: Int) {
        guard let sample = samples.randomElement(using: &random) else { throw ArchiveError(.misuse, "no samples") }
        var graph = sample.graph
        let root = graph.add(className: try name(&random), fields: [])
        try graph.replace(root, with: graph.objects[root].with(try fields(of: sample, &graph, root, &random)))
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let index = Int.random(in: 1..<graph.objects.count, using: &random)
            guard graph.objects[index].record != nil else { continue }
            let part = ClassSample(type: "", graph: graph, index: index)
            try graph.replace(index, with: graph.objects[index].with(try fields(of: part, &graph, root, &random)))
        }
        let place = HostilePlace.allCases.randomElement(using: &random) ?? .root
        let outer = try place.wrap(root, in: &graph)
        return (graph, outer)
    }

    private func name(_ random: inout SeededGenerator) throws -> String { names.randomElement(using: &random) ?? "" }

    /// Some values of an object, some hostile ones in place of others, and keys of other classes.
    private func fields(
        of sample: ClassSample, _ graph: inout ArchivedGraph, _ root: Int, _ random: inout SeededGenerator
    ) throws -> [(key: String, value: ArchivedValue)] {
        let record = sample.graph.objects[sample.index].record
        var fields = zip(record?.storedKeys ?? [], record?.values ?? []).map { (key: $0.0, value: $0.1) }
        fields.removeAll { _ in Int.random(in: 0..<8, using: &random) == 0 }
        for position in fields.indices where Int.random(in: 0..<4, using: &random) == 0 {
            fields[position].value = try value(&graph, root, &random)
        }
        for key in samples.randomElement(using: &random)?.keys ?? [] where Int.random(in: 0..<4, using: &random) == 0 {
            guard !fields.contains(where: { $0.key == key }) else { continue }
            fields.append((key, try value(&graph, root, &random)))
        }
        return fields
    }

    private func value(
        _ graph: inout ArchivedGraph, _ root: Int, _ random: inout SeededGenerator
    ) throws -> ArchivedValue {
        guard Bool.random(using: &random) else {
            return .reference(Int.random(in: 0..<graph.objects.count, using: &random))
        }
        return try HostileValue.all.randomElement(using: &random)?.add(&graph, root) ?? .null
    }
}

@Suite("Random archives")
struct RandomArchiveTests {
    /// How many archives to try.
    private static let count = ProcessInfo.processInfo.environment["DISTANT_ARCHIVES"].flatMap { Int($0) } ?? 3000

    @Test("No archive of Foundation's objects ends the process, however it is changed")
    func noTrapInRandomArchive() async throws {
        let folder = try TemporaryFolder()
        let first = TestSeed.next()
        try await Journal.follow(folder.path("journal")) { path, start in
            await #expect(processExitsWith: .success, observing: [\.exitStatus]) {
                [path = path as String, start = start as Int, first = first as UInt64] in
                let classes = try DeclaredClasses.coding()
                let allowed = classes.values + [Holder.self, URLCredential.self]
                let journal = try Journal(path, start: start)
                let archive = try RandomArchive()
                for number in start..<Self.count {
                    let seed = first + UInt64(number)
                    try journal.run(number + 1, "DISTANT_SEED=\(seed)") {
                        var random = SeededGenerator(seed: seed)
                        let object = try archive.next(&random)
                        let way = HostileOpening.allCases.randomElement(using: &random) ?? .secure
                        // It may also end in nil.
                        _ = try way.open(object, allowed, number)
                    }
                }
            } != nil
        }
    }
}
