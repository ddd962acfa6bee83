/// The elements of a list, as views that are made one by one while it is read.
///
/// Go through it in order, once or several times. An element by its number is found by going to it from the start: make an
/// `Array` of the views for that.
///
/// An element whose class does not fit throws when it is read.
public struct GraphList<Element: Codable>: Sendable {
    @usableFromInline let graph: GraphBytes
    private let form: GraphCursor.Form
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
        case Tag.list, Tag.set: form = Element.self is AnyClass ? .objects : .values
        default:
            throw ArchiveError(.typeMismatch, "expected a list to view, found \(Tag.describe(tag))")
        }
        self.graph = graph
        count = try source.elementCount(graph.limits)
        start = source.position
        end = source.end
        guard form != .references else { return }
        // What is read here cannot fail later.
        for index in 0..<count {
            do { _ = try GraphView<Element>(in: graph, &source) } catch {
                throw ArchiveError.wrapping(error, at: .index(index))
            }
        }
    }

    @usableFromInline
    func cursor() -> GraphCursor {
        GraphCursor(form, graph.source(start, end), count, graph.sequentialBodies)
    }
}

extension GraphList: Sequence {
    /// Goes through the elements.
    public struct Iterator: IteratorProtocol {
        @usableFromInline let graph: GraphBytes
        @usableFromInline var cursor: GraphCursor

        @inlinable
        init(_ graph: GraphBytes, _ cursor: GraphCursor) {
            self.graph = graph
            self.cursor = cursor
        }

        /// The next element.
        @inlinable
        public mutating func next() -> GraphView<Element>? {
            guard let place = graph.next(&cursor) else { return nil }
            return GraphView(graph, place)
        }
    }

    /// Goes through the elements from the first on.
    @inlinable
    public func makeIterator() -> Iterator { Iterator(graph, cursor()) }

    /// The number of elements.
    public var underestimatedCount: Int { count }

    /// Whether there are no elements.
    public var isEmpty: Bool { count == 0 }
}
