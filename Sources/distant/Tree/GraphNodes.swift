import KeyedArchive

/// The nodes of a graph as a tree shows them: its objects by index, then the lists and maps it shares.
struct GraphNodes {
    enum Kind: UInt8 {
        /// A short value, shown wherever it is referred to.
        case inline
        /// The description of a class.
        case classRecord
        /// An object with content: shown once, and referred to from elsewhere.
        case block
    }

    let graph: ArchivedGraph
    let objectCount: Int
    let count: Int

    /// Strings and bytes from this size on are shown once.
    private static let longLeaf = 256

    init(_ graph: ArchivedGraph) {
        self.graph = graph
        objectCount = graph.objects.count
        count = objectCount + graph.sharedValues.count
    }

    subscript(node: Int) -> ArchivedObject {
        // Nothing of it is changed.
        node < objectCount ? graph.objects.lent(node) : .value(graph.sharedValues.lent(node - objectCount))
    }

    /// How a node is named: `#5`, and `&0` for what is shared without being an object.
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

    /// Values are nested in one another to a small depth only, so that recursion may follow them.
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
