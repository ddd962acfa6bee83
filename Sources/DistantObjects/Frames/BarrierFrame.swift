/// Asks the peer for a `Pong` once all earlier messages are handled: their methods have returned or suspended.
struct BarrierFrame: FrameContent {
    static let kind = FrameKind.barrier

    /// Returned in the answer.
    let token: UInt64
}

extension BarrierFrame {
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        token = try reader.number()
        try reader.end()
    }

    func append(to outbox: inout Outbox) { outbox.append(token) }
}
