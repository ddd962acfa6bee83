/// What both sides say before anything else.
struct Handshake {
    /// What the peer's `Hello` granted.
    var grants = PeerGrants()
    /// The accept rule has not refused the peer: its calls, which may come with its `Hello`, wait for that.
    var isAccepted = false

    var hasPeersHello: Bool { grants.message > 0 }

    /// Reads the peer's `Hello`.
    ///
    /// - Parameter isInitiator: This side greets first.
    static func read(
        _ bytes: UnsafeRawBufferPointer, isInitiator: Bool
    ) throws(ProtocolViolation) -> (grants: PeerGrants, name: String) {
        var reader = WireReader(bytes)
        let magic = try reader.raw(4)
        guard magic.elementsEqual(ProtocolLimits.magic) else {
            throw ProtocolViolation(.incompatible, "the peer does not speak the Distant Objects protocol")
        }
        var grants = PeerGrants()
        let version = try reader.number()
        guard version == ProtocolLimits.version else {
            throw ProtocolViolation(
                .incompatible,
                "the peer speaks protocol version \(version), this side version \(ProtocolLimits.version)")
        }
        grants.features = try reader.number()
        if isInitiator, grants.features & ProtocolLimits.initiator != 0 {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        grants.queuedCalls = Int(clamping: try reader.number())
        grants.runningCalls = max(1, Int(clamping: try reader.number()))
        grants.message = max(ProtocolLimits.smallestMessage, try reader.number())
        let name = try reader.text(limit: ProtocolLimits.nameBytes)
        guard grants.queuedCalls >= 1 else {
            throw ProtocolViolation(.malformed, "the peer grants no calls at all")
        }
        // What a later version adds stands behind; it is skipped.
        return (grants, name)
    }
}
