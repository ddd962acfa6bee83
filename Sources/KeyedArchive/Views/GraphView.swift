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
/// Views are equal if they are views of the same object or place of one message, so that shared references can be recognised.
public struct GraphView<Value: Codable>: Sendable {
    /// What a view keeps: a single reference, as views are made by the thousand.
    ///
    /// The compiler sees that a list makes views of received bytes, so that going through one counts no references.
    @usableFromInline
    enum Owner: Sendable {
        /// The bytes that are read.
        case received(GraphBytes)
        /// A value of this process.
        case local(LocalGraph<Value>)
    }

    @usableFromInline let owner: Owner
    @usableFromInline let place: GraphPlace

    /// Wraps a value to send it where a view is expected, or to read it as one.
    ///
    /// Sending it does not copy it first. When the view is read, it is archived once; a value with objects by reference cannot
    /// be read before it is sent.
    ///
    /// - Parameter value: Not used elsewhere any more: the view may be shared by threads. Encoding it must not change it.
    public init(_ value: sending Value) {
        owner = .local(LocalGraph(value))
        place = .nowhere
    }

    @inlinable
    init(_ graph: GraphBytes, _ place: GraphPlace) {
        owner = .received(graph)
        self.place = place
    }

    /// The value of this process that it wraps; nil if it was received.
    var local: LocalGraph<Value>? {
        if case .local(let local) = owner { local } else { nil }
    }

    /// Calls `body` with where to read.
    @inlinable
    @inline(__always)
    func located<R>(_ body: (GraphBytes, GraphPlace) throws -> R) throws -> R {
        switch owner {
        case .received(let graph): return try body(graph, place)
        case .local(let local):
            let (graph, place) = try local.read()
            return try body(graph, place)
        }
    }

    /// Makes the value, with its objects.
    ///
    /// Each call makes new ones.
    ///
    /// - Throws: `ArchiveError` as for a value that is decoded at once, and what the value's own code throws.
    /// - Complexity: Linear in the size of the value, and in the number of all objects of the message.
    public func decoded() throws -> sending Value {
        // The decoder keeps no reference to the objects it made.
        nonisolated(unsafe) let value = try located { graph, place in
            if place.kind == .object { return try graph.decode(Value.self, object: Int(place.number)) }
            return try graph.decode(Value.self, graph.source(place.valueStart, place.end))
        }
        return value
    }

    /// The name of the object's class as its sender wrote it; of a value, that of its type, which may be empty.
    ///
    /// - Throws: What a value of this process throws when it is encoded.
    public var archivedClassName: String {
        get throws {
            try located { graph, place in
                place.kind == .value ? "" : graph.withShape(place.shape) { $0.name }
            }
        }
    }
}

extension GraphView: Hashable {
    /// Whether both are views of the same object or place.
    public static func == (a: GraphView, b: GraphView) -> Bool {
        a.owner.identifier == b.owner.identifier && a.place == b.place
    }

    /// Hashes what the view is of.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(owner.identifier)
        hasher.combine(place)
    }
}

extension GraphView.Owner {
    fileprivate var identifier: ObjectIdentifier {
        switch self {
        case .received(let graph): ObjectIdentifier(graph)
        case .local(let local): ObjectIdentifier(local)
        }
    }
}
