/// The sender no longer refers to objects of the receiver.
struct ReleaseFrame {
    /// The number of the last frame of the receiver that the sender had entered: later mentions of an object still count.
    let entered: UInt64
    private let count: Int
    private let ids: WireReader

    init(reading reader: consuming WireReader) throws(ProtocolViolation) {
        entered = try reader.number()
        count = try reader.count(minimum: 2)
        ids = reader
    }

    /// Passes on the ids in their order, and checks that nothing follows them.
    @inline(__always)
    func forEachObject(
        _ body: (ObjectID) throws(ProtocolViolation) -> Void
    ) throws(ProtocolViolation) {
        var ids = ids
        for _ in 0..<count { try body(ids.objectID()) }
        try ids.end()
    }
}

extension ReleaseFrame {
    /// Writes the fields.
    static func append(entered: UInt64, _ objects: some Collection<ObjectID>, to outbox: inout Outbox) {
        outbox.append(entered)
        outbox.append(objects.count)
        for id in objects { outbox.append(id) }
    }
}
