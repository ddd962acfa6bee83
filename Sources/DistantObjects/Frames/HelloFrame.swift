/// The first frame of each side: its version, and what it knows and grants.
struct HelloFrame: FrameContent {
    static let kind = FrameKind.hello

    let features: Features
    /// Calls of the receiver that may wait to be started.
    let queuedCalls: UInt64
    /// One-way messages of the receiver that may run, if they have their own credit.
    let runningCalls: UInt64
    /// Bytes of the largest message that the sender takes.
    let message: UInt64
    /// The name of the sender's program.
    let name: String

    init(_ features: Features, queuedCalls: Int, runningCalls: Int, message: Int, name: String) {
        self.features = features
        self.queuedCalls = UInt64(queuedCalls)
        self.runningCalls = UInt64(runningCalls)
        self.message = UInt64(message)
        self.name = name.cut(toBytes: ProtocolLimits.nameBytes)
    }

    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        let magic = try reader.raw(4)
        guard magic.elementsEqual(ProtocolLimits.magic) else {
            throw ProtocolViolation(.incompatible, "the peer does not speak the Distant Objects protocol")
        }
        let version = try reader.number()
        guard version == ProtocolLimits.version else {
            throw ProtocolViolation(
                .incompatible,
                "the peer speaks protocol version \(version), this side version \(ProtocolLimits.version)")
        }
        features = Features(rawValue: try reader.number())
        queuedCalls = try reader.number()
        runningCalls = try reader.number()
        message = max(ProtocolLimits.smallestMessage, try reader.number())
        name = try reader.text(limit: ProtocolLimits.nameBytes)
        guard queuedCalls >= 1 else {
            throw ProtocolViolation(.malformed, "the peer grants no calls at all")
        }
        // Skips fields that a later version adds.
    }

    func append(to outbox: inout Outbox) {
        for byte in ProtocolLimits.magic { outbox.append(byte: byte) }
        outbox.append(ProtocolLimits.version)
        outbox.append(features.rawValue)
        outbox.append(queuedCalls)
        outbox.append(runningCalls)
        outbox.append(message)
        outbox.append(name)
    }
}
