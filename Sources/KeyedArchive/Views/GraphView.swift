/// A value or an object graph that is read in place, in the bytes of its message, without making objects.
///
/// A method takes its argument as `GraphView<Bar>` instead of `Bar`, and a caller a result. On the wire it is the same: each
/// side decides for itself. Fields are read by their keys, one by one:
///
/// ```swift
/// func sum(_ bar: GraphView<Bar>) throws -> Int {
///     var sum = 0
///     for foo in try bar["foos", as: GraphList<Foo>.self] { sum += try foo["age"] }
///     return sum
/// }
/// ```
///
/// The whole graph is checked when it is decoded, before user code sees the view: bytes that break a rule of the format or a
/// limit throw there, as they do for objects. What a field holds shows when it is read: another type than requested, a missing
/// key and a class that does not fit throw an `ArchiveError` that names the key.
///
/// A view keeps the memory of its whole message, as do all views read from it, until the last of them is freed. Decode what
/// is to be kept for long.
///
/// To send a view of a value, wrap it: `GraphView(bar)`. A view that was received can be sent on; that decodes and encodes it.
/// Views are equal if they are views of the same object or place of one message, so that shared references can be told.
public struct GraphView<Value: Codable>: Sendable {
    enum Content: Sendable {
        /// In the bytes of a message or an archive.
        case received(GraphBytes, GraphPlace)
        /// A value of this process.
        case local(LocalGraph<Value>)
    }

    let content: Content

    /// Wraps a value to send it where a view is expected, or to read it as one.
    ///
    /// Sending it does not copy it first. When the view is read, it is archived once.
    ///
    /// - Parameter value: Not used elsewhere any more: the view may be shared by threads. Encoding it must not change it.
    public init(_ value: sending Value) { content = .local(LocalGraph(value)) }

    @inline(__always)
    init(_ graph: GraphBytes, _ place: GraphPlace) { content = .received(graph, place) }

    /// Where to read.
    @inline(__always)
    func located() throws -> (GraphBytes, GraphPlace) {
        switch content {
        case .received(let graph, let place): return (graph, place)
        case .local(let local): return try local.read()
        }
    }

    /// Makes the value, with its objects.
    ///
    /// Each call makes new ones.
    ///
    /// - Throws: `ArchiveError` as for a value that is decoded at once, and what the value's own code throws.
    /// - Complexity: Linear in the size of the value, and in the number of all objects of the message.
    public func decoded() throws -> sending Value {
        let (graph, place) = try located()
        // The decoder keeps no reference to the objects it made.
        nonisolated(unsafe) let value: Value
        switch place.kind {
        case .object(let number): value = try graph.decode(Value.self, object: number)
        case .record, .value: value = try graph.decode(Value.self, graph.source(place.valueStart, place.end))
        }
        return value
    }

    /// The name of the object's class as its sender wrote it; of a value, that of its type, which may be empty.
    ///
    /// - Throws: What a value of this process throws when it is encoded.
    public var archivedClassName: String {
        get throws {
            let (graph, place) = try located()
            return place.kind == .value ? "" : graph.withShape(place.shape) { $0.name }
        }
    }
}

extension GraphView: Hashable {
    /// Whether both are views of the same object or place.
    public static func == (a: GraphView, b: GraphView) -> Bool {
        switch (a.content, b.content) {
        case (.received(let graph, let place), .received(let other, let otherPlace)):
            graph === other && place == otherPlace
        case (.local(let local), .local(let other)): local === other
        default: false
        }
    }

    /// Hashes what the view is of.
    public func hash(into hasher: inout Hasher) {
        switch content {
        case .received(let graph, let place):
            hasher.combine(ObjectIdentifier(graph))
            hasher.combine(place)
        case .local(let local): hasher.combine(ObjectIdentifier(local))
        }
    }
}
