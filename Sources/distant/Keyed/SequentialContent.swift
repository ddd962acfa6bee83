import KeyedArchive

/// The objects of a sequential archive of `NSCodingSequentialArchiver` as a typedstream has them.
///
/// In such an archive the values have the keys `$0`, `$1` and so on, and `$types` has the type of each, with commas between
/// them. Each value becomes a group by itself. Foundation's own objects have keys there, too, and become the groups that
/// Apple's systems write for them.
struct SequentialContent {
    private typealias Problem = TranslationProblem

    private let graph: ArchivedGraph
    /// The versions of the classes that the archive describes, by name.
    private let versions: [String: Int]
    private let chains: [String: [String]]
    /// The C arrays that were met: each belongs to one place, so what is written stays as small as the archive.
    private var arrays: Set<Int> = []

    /// The key for the types of values without keys.
    private static let typesKey = "$types"

    /// - Throws: `ArchiveError` if it is not such an archive.
    init(_ graph: ArchivedGraph) throws {
        let top = graph.lentRoots
        guard top.storedKeys.contains(Self.typesKey) else {
            let isSequential = top.values.indices.contains { top.isUnkeyed(at: $0) }
            throw ArchiveError(
                .unsupported,
                isSequential
                    ? "its values have no types, which a typedstream needs; only NSCodingSequentialArchiver writes them"
                    : "only a typedstream, or the JSON or property list of one, or a sequential archive becomes a typedstream"
            )
        }
        self.graph = graph
        var versions: [String: Int] = [:]
        var chains: [String: [String]] = [:]
        for object in graph.objects {
            guard case .classRecord(let type) = object else { continue }
            versions[type.name] = type.version
            chains[type.name] = type.classes ?? [type.name]
        }
        self.versions = versions
        self.chains = chains
    }

    /// The values that belong to no object.
    mutating func roots() throws -> [TypedStreamPart] { try values(of: graph.roots) }

    /// The classes and values of the object at a place; nil if nil is there.
    mutating func object(_ index: Int) throws -> (classes: [TypedStreamMember], parts: [TypedStreamPart])? {
        guard graph.objects.indices.contains(index) else { throw Problem("refers to an object that is not there") }
        switch graph.objects[index] {
        case .value(.null): return nil
        case .classRecord: throw Problem("refers to a class as an object")
        case .value(let value):
            let content = try StoredFoundationObject.plain(value)
            return (members(content.classes), content.parts)
        case .instance(let record):
            var names = chains[record.typeName] ?? [record.typeName]
            guard names.count <= Self.mostClasses else {
                throw Problem("has more than \(Self.mostClasses) superclasses")
            }
            if record.storedKeys.contains(Self.typesKey) {
                let version = record.version
                let classes = [TypedStreamMember(name: record.typeName, version: version)] + members(names.dropFirst())
                return (classes, try values(of: record))
            }
            guard let parts = try StoredFoundationObject(graph, record).parts() else {
                let key = record.keys.first.map { "a value with the key “\($0)”" } ?? "no types of its values"
                throw Problem("has \(key), and no form in a typedstream that is known here")
            }
            // What Apple's systems archive is an object that makes decimal numbers.
            if record.typeName == "NSDecimalNumber" { names = ["NSDecimalNumberPlaceholder", "NSObject"] }
            return (members(names), parts)
        }
    }

    private static let mostClasses = 64

    /// What stands for the name of an object in errors.
    func name(of index: Int) -> String {
        graph.objects.indices.contains(index) ? graph.objects[index].className ?? "a value" : "an object"
    }

    private func members(_ names: some Sequence<String>) -> [TypedStreamMember] {
        names.map { TypedStreamMember(name: $0, version: versions[$0] ?? TypedStreamFoundation.version(of: $0)) }
    }

    // MARK: Values without keys

    private mutating func values(of record: ArchivedRecord) throws -> [TypedStreamPart] {
        var types = ""
        for (key, value) in zip(record.storedKeys, record.values) where key == Self.typesKey {
            guard case .string(let text)? = graph.plain(value) else { throw Problem("has types that are not text") }
            types = text
        }
        let values = try inOrder(record, isTyped: true)
        let list = types.isEmpty ? [] : types.split(separator: ",", omittingEmptySubsequences: false)
        guard list.count == values.count else {
            throw Problem("has the types of \(list.count) values, and \(values.count) values")
        }
        var parts: [TypedStreamPart] = []
        for (position, (type, value)) in zip(list, values).enumerated() {
            parts.append(.group(String(type)))
            do {
                guard let leaves = StoredType.leaves(of: type), leaves.count == 1, leaves[0] == type else {
                    throw Problem("has a value of the type “\(type)”, which is not one of such an archive")
                }
                try append(leaves[0], value, to: &parts)
            } catch let problem as Problem {
                throw Problem(problem.message, at: position)
            }
        }
        return parts
    }

    /// The values without keys; others are errors.
    private func inOrder(_ record: ArchivedRecord, isTyped: Bool) throws -> [ArchivedValue] {
        var values: [ArchivedValue?] = []
        for (index, key) in record.storedKeys.enumerated() {
            guard record.isUnkeyed(at: index), let position = Int(key.dropFirst()) else {
                guard isTyped ? key == Self.typesKey : key.hasPrefix("NS.") else {
                    throw Problem("has a value with the key “\(key)”, and a typedstream has no keys")
                }
                continue
            }
            guard position < record.values.count else { throw Problem("has a value $\(position), but none before") }
            while values.count <= position { values.append(nil) }
            values[position] = record.values[index]
        }
        return try values.enumerated().map { position, value in
            guard let value else { throw Problem("has no value $\(position), but others behind") }
            return value
        }
    }

    private mutating func append(_ type: Substring, _ value: ArchivedValue, to parts: inout [TypedStreamPart]) throws {
        guard let (count, element) = StoredType.array(type) else {
            guard let part = try scalar(type.utf8.first ?? 0, value) else {
                throw Problem("has a value that does not have its type “\(type)”")
            }
            return parts.append(part)
        }
        guard case .reference(let index) = value, graph.objects.indices.contains(index),
            let array = graph.objects[index].record, array.typeName == "_NSKeyedCoderOldStyleArray",
            case .integer(Int64(count))? = array["NS.count"], let leaves = StoredType.leaves(of: element)
        else { throw Problem("has a value that is not the array that its type “\(type)” says") }
        guard arrays.insert(index).inserted else { throw Problem("shares a C array with another object") }
        let values = try inOrder(array, isTyped: false)
        let (total, isTooLarge) = count.multipliedReportingOverflow(by: leaves.count)
        guard !isTooLarge, values.count == total else {
            throw Problem("has an array of \(values.count) values where its type “\(type)” has another number")
        }
        for (position, value) in values.enumerated() { try append(leaves[position % leaves.count], value, to: &parts) }
    }

    private func scalar(_ code: UInt8, _ value: ArchivedValue) throws -> TypedStreamPart? {
        switch Character(UnicodeScalar(code)) {
        case "@":
            switch value {
            case .null, .reference(0): return .null
            case .reference(let index): return .object(index)
            default: return nil
            }
        case "*", "#":
            switch graph.plain(value) {
            case .null?: return .null
            case .string(let text)?:
                if code == UInt8(ascii: "*") { return .cString(text) }
                guard let names = chains[text] else {
                    throw Problem("has the class \(text) as a value, whose superclasses the archive does not name")
                }
                return .type(members(names))
            default: return nil
            }
        case "f": return StoredFoundationObject.float(value)
        case "d": return StoredFoundationObject.double(value)
        default: return StoredFoundationObject.whole(value).flatMap { .whole($0, code) }
        }
    }
}

extension ArchivedGraph {
    /// The plain value that a value is or refers to; nil if it refers to an object of a class.
    func plain(_ value: ArchivedValue) -> ArchivedValue? {
        guard case .reference(let index) = value else { return value }
        return objects.indices.contains(index) ? objects[index].plainValue : nil
    }
}
