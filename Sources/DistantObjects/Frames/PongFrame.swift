/// Answers a `Ping` or a `Barrier`.
struct PongFrame: FrameContent {
    static let kind = FrameKind.pong

    /// The number in the `Ping` or the `Barrier`.
    let token: UInt64
}

extension PongFrame {
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        token = try reader.number()
        try reader.end()
    }

    func append(to outbox: inout Outbox) { outbox.append(token) }
}
