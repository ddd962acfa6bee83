/// Items of a stream.
///
/// The tables and the body follow.
struct ItemFrame {
    let stream: UInt32
    /// The number of items in the body.
    let count: UInt64

    init(_ count: Int, of stream: UInt32) {
        (self.stream, self.count) = (stream, UInt64(count))
    }

    @inline(__always)
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        stream = try reader.number32()
        count = try reader.number()
    }

    @inline(__always)
    func append(to outbox: inout Outbox) {
        outbox.append(stream)
        outbox.append(count)
    }
}
