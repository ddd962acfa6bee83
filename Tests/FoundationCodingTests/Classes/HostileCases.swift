import Foundation
import FoundationCoding
import KeyedArchive
import PortTransport

/// Archives that name one of Foundation's classes, whole and damaged in all ways.
final class HostileCases {
    /// The classes that a call allows: all.
    let allowed: [AnyClass]
    private let samples: [ClassSample]
    private let areUsed: Bool
    private let journal: Journal
    private var number = 0

    /// - Parameters:
    ///   - classes: The classes to go through, by their full names.
    ///   - journal: Gets the name of each case before it begins.
    ///   - areUsed: Whether to use the objects.
    init(_ classes: [String: AnyClass], _ journal: Journal, areUsed: Bool = true) throws {
        self.areUsed = areUsed
        allowed = classes.values + Subclasses.all + [Holder.self]
        samples = try ClassSamples.all()
        self.journal = journal
    }

    /// One object as an archive holds it, perhaps damaged.
    private struct Variant {
        let name: String
        let fields: [(key: String, value: ArchivedValue)]
        var isDamaged = false
    }

    /// Runs all cases of a class.
    ///
    /// - Parameters:
    ///   - name: The name of the class in archives.
    ///   - model: The full name of a class whose samples the objects get their values from.
    ///   - places: Where to put whole and empty objects.
    ///   - isBrief: Whether to try only these.
    func run(
        _ name: String, like model: String, at places: [HostilePlace] = HostilePlace.allCases, isBrief: Bool = false
    ) throws {
        let own = samples.filter { $0.type == model }
        var further = Set(ClassSamples.furtherKeys[model] ?? [])
        further.formUnion(FoundationNeeds.table[model]?.values.map(\.key) ?? [])
        for sample in own.isEmpty ? [try Self.empty(name)] : own {
            try run(name, sample, further.subtracting(sample.keys).sorted(), places, isBrief)
        }
    }

    private static func empty(_ name: String) throws -> ClassSample {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let index = graph.add(className: name, fields: [])
        return ClassSample(type: name, graph: graph, index: index)
    }

    private func run(
        _ name: String, _ sample: ClassSample, _ further: [String], _ places: [HostilePlace], _ isBrief: Bool
    ) throws {
        var graph = sample.graph
        let record = graph.objects[sample.index].record
        let fields = Array(zip(record?.storedKeys ?? [], record?.values ?? [])).map { (key: $0.0, value: $0.1) }
        // The object of this name and class, and no values.
        let index = graph.add(className: name, fields: [])
        try run(name, graph, index, Variant(name: "whole", fields: fields), places)
        try run(name, graph, index, Variant(name: "empty", fields: []), places)
        if isBrief { return }
        for (position, field) in fields.enumerated() {
            var others = fields
            others.remove(at: position)
            for variant in [
                Variant(name: "only \(field.key)", fields: [field], isDamaged: true),
                Variant(name: "no \(field.key)", fields: others, isDamaged: true),
            ] {
                try run(
                    name, graph, index, variant,
                    places.filter { [.root, .element, .held, .key, .attribute].contains($0) })
            }
        }
        for (key, value) in (fields.map(\.key) + further).flatMap({ key in HostileValue.all.map { (key, $0) } }) {
            for way in [HostileOpening.anyClass, number.isMultiple(of: 4) ? .secure : .sequential] {
                try run("\(name), \(value.name) for \(key), \(way.rawValue)") {
                    var graph = graph
                    let damaged = fields.filter { $0.key != key } + [(key, try value.add(&graph, index))]
                    return try way.open(Self.archive(graph, index, damaged, .root), allowed, number, isUsed: areUsed)
                }
            }
        }
    }

    private func run(
        _ name: String, _ graph: ArchivedGraph, _ index: Int, _ variant: Variant, _ places: [HostilePlace]
    ) throws {
        let ways = variant.isDamaged ? [.secure, .anyClass, .sequential] : HostileOpening.allCases
        for place in places {
            for way in ways {
                try run("\(name), \(variant.name), \(place.rawValue), \(way.rawValue)") {
                    try way.open(Self.archive(graph, index, variant.fields, place), allowed, number, isUsed: areUsed)
                }
            }
        }
    }

    private static func archive(
        _ graph: ArchivedGraph, _ index: Int, _ fields: [(key: String, value: ArchivedValue)], _ place: HostilePlace
    ) throws -> (ArchivedGraph, Int) {
        var graph = graph
        try graph.replace(index, with: graph.objects[index].with(fields))
        let outer = try place.wrap(index, in: &graph)
        return (graph, outer)
    }

    /// Runs a case unless an earlier child did; it must end in an object or an error.
    private func run(_ name: String, _ body: () throws -> Bool) throws {
        number += 1
        guard number > journal.start else { return }
        try journal.run(number, name) {
            guard try body() else { throw ArchiveError(.misuse, "neither an object nor an error") }
        }
    }
}
