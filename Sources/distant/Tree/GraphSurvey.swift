import KeyedArchive

/// A walk over a graph before it is shown, which finds shared objects and cycles.
///
/// The walk is depth-first and keeps its path in an array. A node gets a number when it is entered, and stores the last
/// number in use when it is left. A reference closes a cycle if its source has a number in the range of its target.
struct GraphSurvey {
    private let nodes: GraphNodes
    private(set) var kinds: [GraphNodes.Kind]
    /// The number of references to each node; 2 means more than one.
    private var uses: [UInt8]
    private var entered: [Int32]
    private var left: [Int32]
    private var clock: Int32 = 0
    /// The class of each node as an index into `classes`; -1 without class.
    private var classNumbers: [Int32]
    private(set) var classes: [ClassUse] = []
    private var numbers: [String: Int32] = [:]
    /// Objects that cannot be reached from the archive's keys; further walks begin at them.
    private(set) var strays: [Int] = []

    /// A class, and the number of its instances in the archive.
    struct ClassUse {
        let name: String
        let version: Int
        let record: Int?
        var count: Int
    }

    init(_ nodes: GraphNodes, progress: Progress) {
        self.nodes = nodes
        kinds = Array(repeating: .inline, count: nodes.count)
        uses = Array(repeating: 0, count: nodes.count)
        entered = Array(repeating: 0, count: nodes.count)
        left = Array(repeating: 0, count: nodes.count)
        classNumbers = Array(repeating: -1, count: nodes.count)
        walk(nodes.targets(of: nodes.graph.lentRoots.values + nodes.graph.lentOthers.map(\.value)), progress)
        for node in 0..<nodes.objectCount where entered[node] == 0 {
            // Class records and nil serve other objects and are not counted.
            let kind = GraphNodes.kind(nodes[node])
            if kind == .classRecord || (node == 0 && kind == .inline) { continue }
            strays.append(node)
            walk([Int32(node)], progress)
            uses[node] = max(uses[node], 1) - 1
        }
    }

    /// Whether a node is referred to more than once.
    func isShared(_ node: Int) -> Bool { uses[node] > 1 }

    /// Whether a reference leads back to a node on the path to its source.
    func closesCycle(from source: Int, to target: Int) -> Bool {
        entered[target] <= entered[source] && entered[source] <= left[target]
    }

    /// The class of a node; nil for plain values.
    func className(_ node: Int) -> String? {
        classNumbers[node] < 0 ? nil : classes[Int(classNumbers[node])].name
    }

    private struct Step {
        let node: Int32
        let targets: [Int32]
        var next = 0
    }

    private mutating func walk(_ starts: [Int32], _ progress: Progress) {
        // The first step stands for the walk itself and is not a node.
        var path = [Step(node: -1, targets: starts)]
        while let last = path.indices.last {
            guard path[last].next < path[last].targets.count else {
                if path[last].node >= 0 { left[Int(path[last].node)] = clock }
                path.removeLast()
                continue
            }
            let node = Int(path[last].targets[path[last].next])
            path[last].next += 1
            if uses[node] < 2 { uses[node] += 1 }
            guard entered[node] == 0 else { continue }
            clock += 1
            entered[node] = clock
            left[node] = clock
            progress.show("looking for what is shared", Int(clock), of: nodes.count)
            let object = nodes[node]
            kinds[node] = GraphNodes.kind(object)
            guard kinds[node] == .block else { continue }
            note(object, node)
            path.append(Step(node: Int32(node), targets: nodes.targets(of: object)))
        }
    }

    private mutating func note(_ object: ArchivedObject, _ node: Int) {
        guard let record = object.record else { return }
        // Two classes with the same name may have different superclasses or versions.
        let key = "\(record.classIndex ?? -1) \(record.version) \(record.typeName)"
        if let number = numbers[key] {
            classNumbers[node] = number
            classes[Int(number)].count += 1
        } else {
            classNumbers[node] = Int32(classes.count)
            numbers[key] = Int32(classes.count)
            classes.append(
                ClassUse(name: record.typeName, version: record.version, record: record.classIndex, count: 1))
        }
    }
}
