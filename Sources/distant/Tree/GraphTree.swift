import KeyedArchive

/// Prints a graph as an indented tree.
///
///     binary, by NSKeyedArchiver, version 100000, 9 objects
///
///     root: Team
///       name: "Reds"
///       captain: Foo #4
///         name: "Alex"
///       players: NSArray
///         NS.objects: 1 element
///           0: Foo #4, above
///       rival: Team
///         rival: Team #1, a cycle
///
/// Each object is printed in full at its first occurrence. Objects below a certain depth are printed after the tree,
/// each as a separate tree: so a chain of any length can be read and printed.
struct GraphTree {
    private let graph: ArchivedGraph
    private let summary: String
    private let output: ByteOutput
    private let progress: Progress
    private let nodes: GraphNodes
    private let survey: GraphSurvey
    private var open: [Frame] = []
    private var places: TreePlaces
    /// The level of its first line; above 0 for an archive inside of another, which has no heading and no list of classes.
    private let indentation: Int

    /// A container that is being printed line by line.
    private struct Frame {
        /// The object that contains it; -1 for the archive's keys.
        let node: Int
        let depth: Int
        let content: TreeContent
        var next = 0
    }

    init(
        _ graph: ArchivedGraph, _ summary: String, output: ByteOutput, progress: Progress, indentation: Int = 0
    ) {
        self.indentation = indentation
        self.graph = graph
        self.summary = summary
        self.output = output
        self.progress = progress
        nodes = GraphNodes(graph)
        survey = GraphSurvey(nodes, progress: progress)
        places = TreePlaces(count: nodes.count, progress: progress)
    }

    mutating func print() throws {
        if indentation == 0 { output.append("\(summary)\n\n") }
        try tree(Frame(node: -1, depth: 0, content: .fields(graph.lentRoots.keys, graph.lentRoots.values)))
        if !graph.lentOthers.isEmpty {
            heading("beside the objects:")
            try tree(Frame(node: -1, depth: 1, content: .pairs(graph.lentOthers)))
        }
        try printWaiting()
        if !survey.strays.isEmpty {
            heading("objects that no key of the archive leads to:")
            for node in survey.strays where places[node] == .nowhere {
                try tree(node)
                try printWaiting()
            }
        }
        if indentation == 0 { printClasses() }
        try output.check()
    }

    /// Prints one value, with the lines below it.
    mutating func print(_ value: ArchivedValue) throws {
        let (node, content) = self.value(value, -1, 0)
        output.append("\n")
        if let content { try tree(Frame(node: node, depth: 1, content: content)) }
        try printWaiting()
        try output.check()
    }

    private func heading(_ text: String) {
        if indentation == 0 { output.append("\n") }
        indent(0)
        output.append("\(text)\n")
    }

    private func indent(_ depth: Int) { for _ in 0..<depth + indentation { output.append("  ") } }

    private mutating func printWaiting() throws {
        while let node = places.nextTree() {
            if indentation == 0 { output.append("\n") }
            try tree(node)
        }
    }

    private mutating func tree(_ node: Int) throws {
        indent(0)
        output.append("\(nodes.name(node)): ")
        let content = begin(node, isNamed: false)
        output.append("\n")
        if let content { try tree(Frame(node: node, depth: 1, content: content)) }
    }

    private mutating func tree(_ frame: Frame) throws {
        open.append(frame)
        while let last = open.indices.last {
            let frame = open[last]
            guard frame.next < frame.content.count else {
                open.removeLast()
                continue
            }
            open[last].next += 1
            line(frame)
            try output.check()
        }
    }

    /// Prints one line, and opens the container that begins there.
    private mutating func line(_ frame: Frame) {
        indent(frame.depth)
        output.append(label(frame))
        output.append(": ")
        let (node, content) = value(frame.content.value(frame.next), frame.node, frame.depth)
        output.append("\n")
        if let content { open.append(Frame(node: node, depth: frame.depth + 1, content: content)) }
    }

    private func label(_ frame: Frame) -> String {
        switch frame.content.label(frame.next) {
        case .index(let index): "\(index)"
        case .name(let name): PlainText.name(name)
        case .key(.reference(let index)) where survey.kinds[index] == .inline: LeafText.text(nodes[index])
        case .key(.reference(let index)): "key \(nodes.name(index))"
        case .key(.shared(let index)): "key &\(index)"
        case .key(let key): LeafText.text(key)
        }
    }

    // MARK: Values

    /// Prints the text for a value of `source`; returns the content to print below it.
    private mutating func value(
        _ value: ArchivedValue, _ source: Int, _ depth: Int
    ) -> (node: Int, content: TreeContent?) {
        switch value {
        case .reference(let index): return (index, reference(index, source, depth))
        case .shared(let index):
            let node = nodes.objectCount + index
            return (node, reference(node, source, depth))
        default:
            output.append(LeafText.text(value))
            return (source, TreeContent(value))
        }
    }

    private mutating func reference(_ node: Int, _ source: Int, _ depth: Int) -> TreeContent? {
        switch survey.kinds[node] {
        case .inline: output.append(LeafText.text(nodes[node]))
        case .classRecord: output.append("class \(PlainText.name(nodes[node].className ?? ""))")
        case .block:
            if places.isNext(node, depth: depth) { return begin(node, isNamed: survey.isShared(node)) }
            let className = survey.className(node).map { PlainText.name($0) + " " } ?? ""
            output.append("\(className)\(nodes.name(node)), ")
            let isCycle = source >= 0 && survey.closesCycle(from: source, to: node)
            output.append(isCycle ? "a cycle" : places[node] == .above ? "above" : "below")
        }
        return nil
    }

    /// Prints the text for an object where it is printed in full; returns its content.
    private mutating func begin(_ node: Int, isNamed: Bool) -> TreeContent? {
        places.show(node)
        let object = nodes[node]
        output.append(LeafText.text(object))
        if isNamed { output.append(" \(nodes.name(node))") }
        return TreeContent(object)
    }

    // MARK: Classes

    private func printClasses() {
        if survey.classes.isEmpty { return }
        output.append("\nclasses:\n")
        for type in survey.classes {
            output.append("  \(PlainText.name(type.name))")
            if case .classRecord(let record)? = type.record.map({ nodes[$0] }), let names = record.classes {
                let superclasses = names.first == type.name ? names.dropFirst() : names[...]
                if !superclasses.isEmpty {
                    output.append(": " + superclasses.prefix(32).map(PlainText.name).joined(separator: ", "))
                }
            }
            if type.version != 0 { output.append(", version \(type.version)") }
            output.append(" (\(type.count))\n")
        }
    }
}
