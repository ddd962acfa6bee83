import KeyedArchive

/// The objects of an old nib below their parents, and its connections: a list of each.
///
///     objects of the nib, below their parents:
///       NSCustomObject 41 #3 "File's Owner"
///         NSWindowTemplate 504 #61 "Window"
///
///     connections of the nib:
///       NSCustomObject #3 --window--> NSWindowTemplate #61
///
/// The root of such a file is an `NSIBObjectData`. Its groups are the object at the top, a number and so many pairs of an
/// object and its parent, a number and so many pairs of an object and its name, and others.
struct NibOutline {
    private let graph: TypedStreamGraph
    private let text: TypedStreamLeafText
    private let top: Int
    /// The objects in the order of the file, and those below each.
    private var objects: [Int] = []
    private var children: [Int: [Int]] = [:]
    private var names: [Int: String] = [:]
    private var hasParent: Set<Int> = []

    /// Nil if the archive is not such a nib.
    init?(_ graph: TypedStreamGraph, _ text: TypedStreamLeafText) {
        var top = graph.groups.makeIterator()
        guard let group = top.next(), top.next() == nil, case .label(let root)? = Self.values(group)[...].first,
            case .object(let object) = graph.labels[root], text.className(ofObject: root) == "NSIBObjectData"
        else { return nil }
        self.graph = graph
        self.text = text
        var groups = object.groups.makeIterator()
        guard let first = groups.next(), case .label(let owner)? = Self.values(first).first,
            let parents = Self.pairs(&groups), let named = Self.pairs(&groups)
        else { return nil }
        self.top = owner
        for (object, parent) in parents {
            guard case .label(let child) = object, text.isObject(child), hasParent.insert(child).inserted else {
                continue
            }
            objects.append(child)
            if case .label(let parent) = parent { children[parent, default: []].append(child) }
        }
        for (object, name) in named {
            guard case .label(let object) = object, case .label(let name) = name else { continue }
            names[object] = text.string(ofObject: name)
        }
    }

    private static func values(_ group: TypedStreamGroup) -> [TypedStreamValue] { Array(group.values.prefix(4)) }

    /// A number, and so many groups of two values; nil if that is not what follows.
    private static func pairs(
        _ groups: inout TypedStreamGroups.Iterator
    ) -> [(TypedStreamValue, TypedStreamValue)]? {
        guard let first = groups.next(), case .integer(let count)? = values(first).first, count >= 0 else { return nil }
        var pairs: [(TypedStreamValue, TypedStreamValue)] = []
        while pairs.count < count {
            guard let group = groups.next() else { return nil }
            let values = values(group)
            guard values.count == 2 else { return nil }
            pairs.append((values[0], values[1]))
        }
        return pairs
    }

    // MARK: Printing

    func print(to output: ByteOutput) throws {
        output.append("\nobjects of the nib, below their parents:\n")
        var shown: Set<Int> = []
        // Those whose parents are not in the list follow those of the top; a circle of parents begins anywhere.
        for start in [top] + objects {
            var open = [(object: start, depth: 1)]
            while let (object, depth) = open.popLast() {
                guard shown.insert(object).inserted else { continue }
                line(object, depth, output)
                for child in (children[object] ?? []).reversed() { open.append((child, depth + 1)) }
                try output.check()
            }
        }
        try printConnections(to: output)
    }

    private func line(_ object: Int, _ depth: Int, _ output: ByteOutput) {
        for _ in 0..<min(depth, TreePlaces.deepest) { output.append("  ") }
        let name = names[object].map { " \($0)" } ?? ""
        output.append("\(text.className(ofObject: object))\(version(object)) #\(object)\(name)\n")
    }

    private func version(_ object: Int) -> String {
        guard case .object(let object) = graph.labels[object], let type = object.classLabel,
            case .type(let content) = graph.labels[type]
        else { return "" }
        return " \(content.version)"
    }

    /// Prints the objects whose classes are those of connectors.
    private func printConnections(to output: ByteOutput) throws {
        var isFirst = true
        for (label, content) in graph.labels.enumerated() {
            guard case .object(let object) = content, text.className(ofObject: label).hasSuffix("Connector") else {
                continue
            }
            var groups = object.groups.makeIterator()
            guard let group = groups.next(), case let values = Self.values(group), values.count == 3 else { continue }
            if isFirst { output.append("\nconnections of the nib:\n") }
            isFirst = false
            var name = "nil"
            if case .label(let label) = values[2] { name = text.string(ofObject: label) ?? end(values[2]) }
            output.append("  \(end(values[0])) --\(name)--> \(end(values[1]))\n")
            try output.check()
        }
    }

    private func end(_ value: TypedStreamValue) -> String {
        guard case .label(let label) = value, text.isObject(label) else { return text.text(value) }
        return "\(text.className(ofObject: label)) #\(label)"
    }
}
