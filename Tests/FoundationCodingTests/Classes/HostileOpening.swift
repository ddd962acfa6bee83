import Foundation
import FoundationCoding
import KeyedArchive

/// A way to open an archive.
enum HostileOpening: String, CaseIterable {
    case secure
    case listed
    case anyClass = "any class"
    case sequential
    case sequentialListed = "sequential, listed"

    /// The archive cannot be written, so that nothing was tested.
    private struct Unwritten: Error { let error: any Error }

    private var isSequential: Bool { self == .sequential || self == .sequentialListed }
    /// Whether the archive is trusted: only then a collection may contain itself.
    private var isTrusted: Bool { self == .anyClass || self == .sequential }

    /// Decodes an object of a graph, and uses it as a program would.
    ///
    /// - Parameters:
    ///   - object: The graph, and the index of the object.
    ///   - classes: The classes to allow.
    ///   - number: Selects the format.
    ///   - isUsed: Whether to use the object.
    /// - Returns: Whether there is an object.
    /// - Throws: `ArchiveError` from decoding.
    func open(_ object: (graph: ArchivedGraph, index: Int), _ classes: [AnyClass], _ number: Int, isUsed: Bool = true)
        throws -> Bool
    {
        // Each format in turn.
        let format = [ArchiveFormat.binary, .compact, .binary, .xml][number % 4]
        let data: Data
        do {
            data = Data(try archive(object.graph, object.index).bytes(format: format))
        } catch {
            throw Unwritten(error: error)
        }
        let object: Any?
        switch self {
        case .secure:
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            object = unarchiver.decodeObject(of: classes, forKey: "root")
            if let error = unarchiver.error { throw error }
        case .listed:
            object = try NSCodingUnarchiver.unarchivedObject(
                ofClasses: classes, from: data, requiringSecureCoding: false)
        case .anyClass: object = try NSCodingUnarchiver.unarchiveObject(with: data)
        case .sequential: object = try NSCodingSequentialUnarchiver.unarchivedObject(with: data)
        case .sequentialListed:
            object = try NSCodingSequentialUnarchiver.unarchivedObject(with: data, allowing: classes)
        }
        guard let object = object as? NSObject else { return false }
        if isUsed { use(object) }
        return true
    }

    private func archive(_ graph: ArchivedGraph, _ index: Int) throws -> ArchivedGraph {
        guard isSequential else {
            var graph = graph
            graph.setRoots(ArchivedRecord(typeName: "", storedKeys: ["root"], values: [.reference(index)]))
            return graph
        }
        var copy = ArchivedGraph(archiver: "NSArchiver")
        for object in graph.objects.dropFirst() { _ = try copy.add(object) }
        copy.setRoots(
            ArchivedRecord(typeName: "", storedKeys: ["$0", "$types"], values: [.reference(index), .string("@")]))
        return copy
    }

    private static func isCollection(_ object: NSObject) -> Bool {
        object is NSArray || object is NSDictionary || object is NSSet || object is NSOrderedSet
    }

    /// An object must be harmless after it was decoded, too.
    private func use(_ object: NSObject) {
        // Foundation's own hash of these classes never ends, or traps.
        if !(object is NSDecimalNumber || object is NSMeasurement || object is NSError) { _ = object.hash }
        // Foundation cannot compare sets of arrays, nor objects with a collection that contains itself.
        if !isTrusted, !Self.isCollection(object) { _ = object.isEqual(object) }
        _ = try? NSCodingArchiver.archivedData(withRootObject: object)
    }
}

/// A place for an object in an archive.
enum HostilePlace: String, CaseIterable {
    case root
    case element
    case value
    case key
    case member
    case members
    case counted
    case ordered
    case attribute
    case detail
    case held

    /// Adds an object that contains another, and returns its index.
    func wrap(_ index: Int, in graph: inout ArchivedGraph) throws -> Int {
        let object = ArchivedValue.reference(index)
        func text(_ text: String) throws -> ArchivedValue { .reference(try graph.add(.value(.string(text)))) }
        func dictionary(_ key: ArchivedValue, _ value: ArchivedValue) -> ArchivedValue {
            .reference(
                graph.add(
                    className: "NSDictionary", fields: [("NS.keys", .list([key])), ("NS.objects", .list([value]))]))
        }
        func list(_ name: String) -> Int {
            graph.add(className: name, fields: [("NS.objects", .list([object, object]))])
        }
        switch self {
        case .root: return index
        case .element: return list("NSMutableArray")
        case .member: return list("NSSet")
        case .members:
            let twin = ArchivedValue.reference(try graph.add(graph.objects[index]))
            return graph.add(className: "NSSet", fields: [("NS.objects", .list([object, twin]))])
        case .ordered: return graph.add(className: "NSOrderedSet", fields: [("NS.object.0", object)])
        case .counted:
            return graph.add(
                className: "NSCountedSet",
                fields: [("NS.count", .integer(1)), ("NS.object0", object), ("NS.count0", .integer(2))])
        case .value, .key:
            let other = try text("k")
            guard case .reference(let index) = self == .key ? dictionary(object, other) : dictionary(other, object)
            else { return index }
            return index
        case .attribute:
            return graph.add(
                className: "NSAttributedString",
                fields: [("NSString", try text("text")), ("NSAttributes", dictionary(try text("a"), object))])
        case .detail:
            return graph.add(
                className: "NSError",
                fields: [
                    ("NSDomain", try text("d")), ("NSCode", .integer(1)),
                    ("NSUserInfo", dictionary(try text("k"), object)),
                ])
        case .held:
            let holder = graph.add(className: NSStringFromClass(Holder.self), fields: [])
            try graph.replace(
                holder, with: graph.objects[holder].with([("held", object), ("$0", object), ("$types", .string("@"))]))
            return holder
        }
    }
}

/// A class of the program that decodes an object, by key or in order.
final class Holder: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    private let held: Any?

    init?(coder: NSCoder) {
        if !coder.allowsKeyedCoding {
            held = coder.decodeObject()
        } else if let classes = coder.allowedClasses {
            held = coder.decodeObject(of: classes, forKey: "held")
        } else {
            held = coder.decodeObject(forKey: "held")
        }
    }

    func encode(with coder: NSCoder) { coder.encode(held, forKey: "held") }
}

extension ArchivedObject {
    /// The same object with other values, by their stored keys.
    func with(_ fields: [(key: String, value: ArchivedValue)]) -> ArchivedObject {
        .instance(
            ArchivedRecord(
                typeName: className ?? "", version: record?.version ?? 0, classIndex: record?.classIndex,
                storedKeys: fields.map(\.key), values: fields.map(\.value)))
    }
}
