import KeyedArchive

/// Prints a typedstream as an indented tree.
///
///     typedstream, little-endian, system 1000, 3 objects, 4 classes, 1 C string, 1 group
///
///     @: NSArray
///       i: 2
///       @: NSString "Hello"
///       @: NSNumber 5 (i)
///
///     classes:
///       NSArray 0: NSObject 0 (1)
///
/// Each line is a group: its type string and its values. An object is printed in full where the file has it in full, which is
/// its first place; objects below a certain depth are printed after the tree, so a chain of any length can be printed. An
/// archive inside of data is printed below it.
struct TypedStreamTree {
    private let graph: TypedStreamGraph
    private let summary: String
    private let output: ByteOutput
    private let progress: Progress
    private let text: TypedStreamLeafText
    private var places: TreePlaces
    private var open: [Frame] = []
    private var classUses: [Int: Int] = [:]
    /// How many typedstreams this one is inside of, and the level of its first line.
    private let nesting: Int
    private let indentation: Int

    /// The most typedstreams inside of one another that are opened.
    private static let mostNested = 4

    /// An object that is being printed line by line, or objects that a line names.
    private struct Frame {
        enum Content {
            case groups(TypedStreamGroups.Iterator)
            case objects([Int])
        }

        var content: Content
        let depth: Int
    }

    init(
        _ graph: TypedStreamGraph, _ summary: String, output: ByteOutput, progress: Progress, nesting: Int = 0,
        indentation: Int = 0
    ) {
        self.nesting = nesting
        self.indentation = indentation
        self.graph = graph
        self.summary = summary
        self.output = output
        self.progress = progress
        text = TypedStreamLeafText(graph)
        places = TreePlaces(count: graph.labels.count, progress: progress)
    }

    mutating func print() throws {
        if nesting == 0 { output.append("\(summary)\n\n") }
        try tree(Frame(content: .groups(graph.groups.makeIterator()), depth: 0))
        while let label = places.nextTree() {
            if nesting == 0 { output.append("\n") }
            try tree(Frame(content: .objects([label]), depth: 0))
        }
        if nesting == 0 {
            printClasses()
            try NibOutline(graph, text)?.print(to: output)
        }
        try output.check()
    }

    private mutating func tree(_ frame: Frame) throws {
        open.append(frame)
        while let last = open.indices.last {
            let depth = open[last].depth
            switch open[last].content {
            case .groups(var groups):
                let group = groups.next()
                open[last].content = .groups(groups)
                if let group { try line(group, depth) } else { open.removeLast() }
            case .objects(let labels):
                guard let label = labels.first else {
                    open.removeLast()
                    continue
                }
                open[last].content = .objects(Array(labels.dropFirst()))
                indent(depth)
                output.append("#\(label): \(begin(label, isNamed: false))\n")
                push(label, depth)
            }
            try output.check()
        }
    }

    private func indent(_ depth: Int) { for _ in 0..<depth + indentation { output.append("  ") } }

    // MARK: Lines

    /// Prints a group, and begins with the objects that it has in full.
    private mutating func line(_ group: TypedStreamGroup, _ depth: Int) throws {
        indent(depth)
        output.append("\(PlainText.name(text.text(group.type))): ")
        var line = TypedStreamLine(group.values)
        var objects: [Int] = []
        var nested: [ArchivedText] = []
        while let part = line.next() {
            switch part {
            case .text(let text): output.append(text)
            case .leaf(let value, let separator):
                output.append(separator)
                if let bytes = archive(value) { nested.append(bytes) }
                output.append(leaf(value, depth, isAlone: line.isAlone, &objects))
            }
        }
        output.append("\n")
        for bytes in nested { try print(bytes, indentation + depth + 1) }
        if line.isAlone, let label = objects.first {
            push(label, depth)
        } else if !objects.isEmpty {
            open.append(Frame(content: .objects(objects), depth: depth + 1))
        }
    }

    /// The bytes of an archive inside of this one, if they were not shown yet.
    private func archive(_ value: TypedStreamValue) -> ArchivedText? {
        let bytes: ArchivedText?
        switch value {
        case .bytes(let content, _): bytes = content
        case .label(let label) where text.isObject(label) && places[label] == .nowhere:
            bytes = text.data(ofObject: label)
        default: bytes = nil
        }
        let isArchive = bytes?.withBytes { ArchiveFormat(detecting: $0.prefix(64)) != nil } ?? false
        return isArchive ? bytes : nil
    }

    /// Prints an archive inside of this one; nothing if it does not open.
    private func print(_ bytes: ArchivedText, _ indentation: Int) throws {
        guard nesting < Self.mostNested else { return }
        if let graph = try? TypedStreamGraph(bytes.data, limits: ArchiveFile.limits) {
            var tree = TypedStreamTree(
                graph, "", output: output, progress: progress, nesting: nesting + 1, indentation: indentation)
            try tree.print()
        } else if let graph = try? ArchivedGraph(bytes.data, limits: ArchiveFile.limits, anyArchiver: true) {
            var tree = GraphTree(graph, "", output: output, progress: progress, indentation: indentation)
            try tree.print()
        }
    }

    private mutating func push(_ label: Int, _ depth: Int) {
        guard text.shortForm(label) == nil, case .object(let object) = graph.labels[label] else { return }
        open.append(Frame(content: .groups(object.groups.makeIterator()), depth: depth + 1))
    }

    /// A value in a line; `objects` gets those that follow in full.
    private mutating func leaf(
        _ value: TypedStreamValue, _ depth: Int, isAlone: Bool, _ objects: inout [Int]
    ) -> String {
        guard case .label(let label) = value, text.isObject(label) else { return text.text(value) }
        if let short = text.shortForm(label) {
            if places[label] == .nowhere { count(label) }
            return short
        }
        let name = text.className(ofObject: label)
        guard places.isNext(label, depth: depth) else {
            return "\(name) #\(label), \(places[label] == .below ? "below" : "above")"
        }
        objects.append(label)
        if isAlone { return begin(label, isNamed: text.isShared(label)) }
        // The objects of this line follow below it.
        places.announce(label)
        return "\(name) #\(label)"
    }

    /// The name of an object that is printed in full.
    private mutating func begin(_ label: Int, isNamed: Bool) -> String {
        count(label)
        let name = text.className(ofObject: label)
        return isNamed ? "\(name) #\(label)" : name
    }

    private mutating func count(_ label: Int) {
        places.show(label)
        if case .object(let object) = graph.labels[label], let type = object.classLabel {
            classUses[type, default: 0] += 1
        }
    }

    // MARK: Classes

    private func printClasses() {
        if classUses.isEmpty { return }
        output.append("\nclasses:\n")
        for (type, count) in classUses.sorted(by: { $0.key < $1.key }) {
            var names: [String] = []
            var next: Int? = type
            // A broken file may have a class that is its own superclass.
            while let label = next, names.count <= 32, case .type(let type) = graph.labels[label] {
                names.append("\(PlainText.name(text.text(type.name))) \(type.version)")
                next = type.superclass
            }
            output.append("  \(names.joined(separator: ": "))\(next == nil ? "" : " …") (\(count))\n")
        }
    }
}
