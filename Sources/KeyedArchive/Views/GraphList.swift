/// The elements of a list, as views that are made one by one while it is read.
///
/// Go through it in order, once or several times. An element by its number is found by going to it from the start: make an
/// `Array` of the views for that.
///
/// An element whose class does not fit throws when it is read.
public struct GraphList<Element: Codable>: Sendable {
    /// How the elements are written.
    private enum Form {
        /// The numbers of objects, each less the one expected.
        case references
        /// One value after the other.
        case values
    }

    private let graph: GraphBytes
    private let form: Form
    /// Where the first element begins.
    private let start: Int
    private let end: Int

    /// The number of elements.
    public let count: Int

    /// The list at a source's position.
    ///
    /// - Complexity: Linear in the number of elements, except for a list of objects.
    init(in graph: GraphBytes, _ list: ByteSource) throws {
        var source = list
        let tag = try source.byte()
        switch tag {
        case Tag.references where Element.self is AnyClass: form = .references
        case Tag.list, Tag.set: form = .values
        default:
            throw ArchiveError(.typeMismatch, "expected a list to view, found \(Tag.describe(tag))")
        }
        self.graph = graph
        count = try source.elementCount(graph.limits)
        start = source.position
        end = source.end
        guard form == .values else { return }
        // What is read here cannot fail later.
        for index in 0..<count {
            do { _ = try GraphView<Element>(in: graph, &source) } catch {
                throw ArchiveError.wrapping(error, at: .index(index))
            }
        }
    }
}

extension GraphList: Sequence {
    /// Goes through the elements.
    public struct Iterator: IteratorProtocol {
        private let graph: GraphBytes
        private let form: Form
        private var source: ByteSource
        private var bodies: BodyTable
        private var left: Int
        private var expected: Int64 = 0

        fileprivate init(_ list: GraphList) {
            graph = list.graph
            form = list.form
            source = graph.source(list.start, list.end)
            // Finds bodies fastest in order.
            bodies = graph.sequentialBodies
            left = list.count
        }

        /// The next element.
        public mutating func next() -> GraphView<Element>? {
            guard left > 0 else { return nil }
            left -= 1
            guard form == .references else { return try? GraphView(in: graph, &source) }
            // The whole list was checked.
            guard let difference = try? source.zigzag() else { return nil }
            let number = Int(expected &+ difference)
            guard number >= 0, number < bodies.count else { return nil }
            expected = Int64(number) &+ 1
            guard let place = try? graph.object(number, bodies.body(number)) else { return nil }
            return GraphView(graph, place)
        }
    }

    /// Goes through the elements from the first on.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// The number of elements.
    public var underestimatedCount: Int { count }

    /// Whether there are no elements.
    public var isEmpty: Bool { count == 0 }
}
