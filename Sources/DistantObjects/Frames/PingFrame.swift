/// Asks the peer for a `Pong`, which its reading thread sends at once.
struct PingFrame: FrameContent {
    static let kind = FrameKind.ping

    /// Returned in the answer.
    let token: UInt64
}

extension PingFrame {
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        token = try reader.number()
        try reader.end()
    }

    func append(to outbox: inout Outbox) { outbox.append(token) }
}
