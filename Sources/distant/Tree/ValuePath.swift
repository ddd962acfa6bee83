import KeyedArchive

/// The way to a value in an archive: the words of the tree that lead to it, with slashes between them.
///
///     root/players/NS.objects/0/name
///     #5/name
///
/// Each word is a key, or a position, as the tree shows it. The first may be the number of an object. A key may contain a
/// slash: the longest key that fits is taken.
struct ValuePath {
    private let text: String

    init(_ text: String) { self.text = text }

    /// There is no value at the place.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: `Missing`, which says how far the way leads, and what is there.
    func value(in graph: ArchivedGraph) throws -> ArchivedValue {
        var rest = text[...]
        var value: ArchivedValue?
        if let object = rest.prefixMatch(of: #/#([0-9]+)(?:\/|$)/#), let index = Int(object.1),
            graph.objects.indices.contains(index)
        {
            value = .reference(index)
            rest = rest[object.range.upperBound...]
        }
        while !rest.isEmpty || value == nil {
            guard let content = Self.content(of: value, in: graph) else {
                throw missing(rest, in: value, "which has nothing below it")
            }
            if case .list(let values) = content {
                let word = rest.prefix { $0 != "/" }
                guard let index = Int(word), values.indices.contains(index) else {
                    throw missing(rest, in: value, "which has \(values.count) elements, from 0")
                }
                value = values[index]
                rest = rest.dropFirst(word.count + 1)
                continue
            }
            let found = (0..<content.count).lazy.compactMap { position in
                Self.rest(of: rest, after: content.label(position), in: graph).map { (position, $0) }
            }.max { $0.1.startIndex < $1.1.startIndex }
            guard let (position, next) = found else {
                throw missing(rest, in: value, "which has \(Self.labels(of: content, in: graph))")
            }
            value = content.value(position)
            rest = next
        }
        return value ?? .null
    }

    private func missing(_ rest: Substring, in value: ArchivedValue?, _ what: String) -> Missing {
        let way = text.prefix(text.count - rest.count)
        let place = value == nil ? "the archive" : PlainText.name(String(way.hasSuffix("/") ? way.dropLast() : way))
        return Missing(description: "there is no \(PlainText.name(String(rest))) in \(place), \(what)")
    }

    private static func content(of value: ArchivedValue?, in graph: ArchivedGraph) -> TreeContent? {
        switch value {
        case nil: .fields(graph.lentRoots.keys, graph.lentRoots.values)
        case .reference(let index)?: TreeContent(graph.objects.lent(index))
        case .shared(let index)?: TreeContent(graph.sharedValues.lent(index))
        case let value?: TreeContent(value)
        }
    }

    /// What follows a label and its slash; nil if the words do not begin with it.
    private static func rest(of words: Substring, after label: TreeContent.Label, in graph: ArchivedGraph) -> Substring?
    {
        for name in names(of: label, in: graph) where words.hasPrefix(name) {
            let rest = words.dropFirst(name.count)
            if rest.isEmpty { return rest }
            if rest.first == "/" { return rest.dropFirst() }
        }
        return nil
    }

    /// A label as it is stored, and as the tree shows it.
    private static func names(of label: TreeContent.Label, in graph: ArchivedGraph) -> [String] {
        switch label {
        case .index: []
        case .name(let name): [name, PlainText.name(name)]
        case .key(.reference(let index)): [LeafText.text(graph.objects.lent(index)), "key #\(index)"]
        case .key(let key): [LeafText.text(key)]
        }
    }

    /// The first labels, for an error.
    private static func labels(of content: TreeContent, in graph: ArchivedGraph) -> String {
        let most = 8
        let first = (0..<min(most, content.count)).map {
            PlainText.name(Self.names(of: content.label($0), in: graph)[0])
        }
        let end = content.count > most ? " and \(content.count - most) more" : ""
        return first.joined(separator: ", ") + end
    }
}
