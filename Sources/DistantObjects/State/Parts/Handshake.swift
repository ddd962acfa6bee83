/// The exchange of `Hello` frames at the start of a connection.
struct Handshake {
    /// The grants in the peer's `Hello`.
    var grants = PeerGrants()
    /// Whether the accept rule has accepted the peer.
    ///
    /// Until then its calls wait; they may come right after its `Hello`.
    var isAccepted = false

    /// The most credit for calls that is counted: far more than any sender uses, and far from what the counters hold.
    private static let mostCredit: UInt64 = 1 << 30

    var hasPeersHello: Bool { grants.message > 0 }

    /// Reads the peer's `Hello`.
    ///
    /// - Parameter isInitiator: Whether this side sends its `Hello` first.
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
        grants.queuedCalls = Int32(min(try reader.number(), mostCredit))
        let runningCalls = try reader.number()
        grants.runningCalls = Int32(max(1, min(runningCalls, UInt64(ProtocolLimits.mostOneWayCredit))))
        grants.message = max(ProtocolLimits.smallestMessage, try reader.number())
        let name = try reader.text(limit: ProtocolLimits.nameBytes)
        guard grants.queuedCalls >= 1 else {
            throw ProtocolViolation(.malformed, "the peer grants no calls at all")
        }
        // Skips fields that a later version adds.
        return (grants, name)
    }
}
