import Synchronization

/// A value of this process behind a view.
///
/// It is archived when the view is read for the first time.
// The value is sent to `init`; nothing else refers to it, and it is only encoded.
@usableFromInline
final class LocalGraph<Value: Codable>: @unchecked Sendable {
    let value: Value
    private let archived = Mutex<Archived?>(nil)

    private struct Archived {
        let graph: GraphBytes
        let place: GraphPlace
    }

    init(_ value: Value) { self.value = value }

    /// The archived value.
    ///
    /// - Throws: What the value throws when it is encoded.
    @usableFromInline
    func read() throws -> (GraphBytes, GraphPlace) {
        if let known = archived.withLock({ $0 }) { return (known.graph, known.place) }
        // User code runs here, so not under the lock.
        let view = try archive()
        let made = try view.located { graph, place in
            archived.withLock { archived in
                let made = archived ?? Archived(graph: graph, place: place)
                archived = made
                return made
            }
        }
        return (made.graph, made.place)
    }

    private func archive() throws -> GraphView<Value> {
        let encoder = ObjectEncoder()
        encoder.allowsExternals = true
        try encoder.encodeTop(value, ValueCodec<Value>.of(Value.self))
        try encoder.finish()
        var bytes = [UInt8](repeating: 0, count: encoder.byteCount)
        bytes.withUnsafeMutableBytes { encoder.copyBytes(to: $0) }
        let owner = ArchiveBytes(bytes)
        let decoder = try ObjectDecoder(
            bytes: owner.bytes, owner: owner, shapes: encoder.shapes, externals: encoder.externals,
            handsOutSlices: false)
        return try decoder.decodeTop(GraphView<Value>.self)
    }
}
