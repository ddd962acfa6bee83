import KeyedArchive

/// The nodes of a graph as a tree shows them: the objects by index, then the shared lists and maps.
struct GraphNodes {
    enum Kind: UInt8 {
        /// A short value, shown at each reference.
        case inline
        /// The description of a class.
        case classRecord
        /// An object with content: shown once, and referred to elsewhere.
        case block
    }

    let graph: ArchivedGraph
    let objectCount: Int
    let count: Int

    /// Strings and bytes of at least this size are shown only once.
    private static let longLeaf = 256

    init(_ graph: ArchivedGraph) {
        self.graph = graph
        objectCount = graph.objects.count
        count = objectCount + graph.sharedValues.count
    }

    subscript(node: Int) -> ArchivedObject {
        // The content is only read, so it may be lent.
        node < objectCount ? graph.objects.lent(node) : .value(graph.sharedValues.lent(node - objectCount))
    }

    /// The name of a node: `#5` for an object, `&0` for a shared value that is not an object.
    func name(_ node: Int) -> String { node < objectCount ? "#\(node)" : "&\(node - objectCount)" }

    static func kind(_ object: ArchivedObject) -> Kind {
        switch object {
        case .instance: .block
        case .classRecord: .classRecord
        case .value(let value):
            switch value {
            case .string(let text): text.utf8.count >= longLeaf ? .block : .inline
            case .brokenString(let units): units.count >= longLeaf ? .block : .inline
            case .data(let data): data.count >= longLeaf ? .block : .inline
            case .list(let values): values.isEmpty ? .inline : .block
            case .map(let pairs): pairs.isEmpty ? .inline : .block
            case .set, .record, .present: .block
            default: .inline
            }
        }
    }

    /// The nodes an object refers to, in the order a tree shows them.
    func targets(of object: ArchivedObject) -> [Int32] {
        var targets: [Int32] = []
        switch object {
        case .instance(let record): record.values.forEach { collect($0, into: &targets) }
        case .value(let value): collect(value, into: &targets)
        case .classRecord: break
        }
        return targets
    }

    func targets(of values: [ArchivedValue]) -> [Int32] {
        var targets: [Int32] = []
        values.forEach { collect($0, into: &targets) }
        return targets
    }

    /// Recursion is safe here: values are nested only to a small depth.
    private func collect(_ value: ArchivedValue, into targets: inout [Int32]) {
        switch value {
        case .reference(let index): targets.append(Int32(index))
        case .shared(let index): targets.append(Int32(objectCount + index))
        case .list(let values), .set(let values): values.forEach { collect($0, into: &targets) }
        case .map(let pairs):
            for pair in pairs {
                collect(pair.key, into: &targets)
                collect(pair.value, into: &targets)
            }
        case .record(let record): record.values.forEach { collect($0, into: &targets) }
        case .present(let value): collect(value, into: &targets)
        default: break
        }
    }
}
