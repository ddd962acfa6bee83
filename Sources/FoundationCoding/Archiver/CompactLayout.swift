import KeyedArchive

/// The door's graphs in the compact format.
///
/// The compact format's own layout has instances only, no plain values or classes among its objects, and turns Foundation's
/// containers into values without class. Here each plain value is an instance of the class it has in Foundation, so that
/// nothing of class or identity is lost. A key at the top tells such an archive from others.
enum CompactLayout {
    /// The key at the top of such an archive, with the number of the layout.
    static let mark = "$nscoding"

    /// The graph in the compact format's layout.
    static func convert(_ graph: ArchivedGraph) throws -> ArchivedGraph {
        var result = ArchivedGraph()
        var indices: [Int: Int] = [:]
        // Numbers first: objects refer to later ones.
        for (index, object) in graph.objects.enumerated() {
            switch object {
            case .classRecord, .value(.null): continue
            default: indices[index] = indices.count
            }
        }
        func moved(_ value: ArchivedValue) -> ArchivedValue {
            switch value {
            // What nobody archived but conditionally is nil.
            case .reference(let index): indices[index].map { .reference($0) } ?? .null
            case .list(let values): .list(values.map(moved))
            default: value
            }
        }
        for (index, object) in graph.objects.enumerated() where indices[index] != nil {
            switch object {
            case .instance(let record):
                let copy = ArchivedRecord(
                    typeName: record.typeName, version: record.version, storedKeys: record.storedKeys,
                    values: record.values.map(moved))
                _ = try result.add(.instance(copy))
            case .value(let value):
                let (name, key) = kind(value)
                _ = result.add(className: name, fields: [(key, value)])
            case .classRecord: break
            }
        }
        let roots = graph.roots
        result.setRoots(
            ArchivedRecord(
                typeName: "", storedKeys: roots.storedKeys + [mark],
                values: roots.values.map(moved) + [.string(graph.archiver ?? "")]))
        return result
    }

    /// The name of the archiver of such an archive; nil if it is another.
    static func archiver(_ graph: ArchivedGraph) -> String? {
        guard graph.archiver == nil, let position = graph.roots.storedKeys.firstIndex(of: mark),
            case .string(let name) = graph.roots.values[position]
        else { return nil }
        return name
    }

    private static func kind(_ value: ArchivedValue) -> (String, String) {
        switch value {
        case .string, .brokenString: ("NSString", "NS.string")
        case .data: ("NSData", "NS.data")
        default: ("NSNumber", "NS.number")
        }
    }
}
