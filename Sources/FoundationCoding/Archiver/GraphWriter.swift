import KeyedArchive

/// The graph an archiver builds: objects by index, and one record for each class.
struct GraphWriter {
    private(set) var graph: ArchivedGraph
    private var classes: [String: Int] = [:]

    init(archiver: String) { graph = ArchivedGraph(archiver: archiver) }

    /// The number of objects so far.
    var count: Int { graph.objects.count }

    /// Adds nil as a placeholder, which is replaced when the object is written.
    ///
    /// It stays nil for a conditional object that nothing else encodes.
    mutating func reserve() throws -> Int { try graph.add(.value(.null)) }

    mutating func fill(_ index: Int, with value: ArchivedValue) throws { try graph.replace(index, with: .value(value)) }

    mutating func fill(
        _ index: Int, className: String, superclasses: [String], hints: [String] = [], version: Int, keys: [String],
        values: [ArchivedValue]
    ) throws {
        let type = try classIndex(className, superclasses: superclasses, hints: hints, version: version)
        let record = ArchivedRecord(
            typeName: className, version: version, classIndex: type, storedKeys: keys, values: values)
        try graph.replace(index, with: .instance(record))
    }

    mutating func setRoots(_ frame: EncodingFrame) {
        graph.setRoots(ArchivedRecord(typeName: "", storedKeys: frame.keys, values: frame.values))
    }

    private mutating func classIndex(
        _ name: String, superclasses: [String], hints: [String], version: Int
    ) throws -> Int {
        if let index = classes[name] { return index }
        let others: [ArchivedValue.Pair] =
            version == 0 ? [] : [.init(.string("$classversion"), .integer(Int64(version)))]
        let index = try graph.add(
            .classRecord(
                ArchivedClass(
                    name: name, classes: [name] + superclasses, hints: hints.isEmpty ? nil : hints, others: others)))
        classes[name] = index
        return index
    }
}
