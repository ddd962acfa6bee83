import KeyedArchive

/// The exchange of `Hello` frames at the start of a connection.
struct Handshake {
    /// The grants in the peer's `Hello`.
    var grants = PeerGrants()
    /// How far the decision about the peer has come.
    enum Decision {
        /// The peer's `Hello` has not come.
        case noHello
        /// The accept rule is asked, or about to be.
        case asked
        case accepted
        case refused
    }

    var decision = Decision.noHello
    /// Whether the accept rule has accepted the peer.
    ///
    /// Until then the peer's calls wait, which may come right after the peer's `Hello`.
    var isAccepted: Bool { decision == .accepted }

    /// Whether the peer's `Hello` has come.
    ///
    /// From then on the code that asks the accept rule ends the handshake, also if the connection ends meanwhile on another thread.
    var hasPeersHello: Bool { decision != .noHello }

    /// Whether references in messages name the class of their object.
    var describesClasses: Bool { grants.features.contains(.classes) }
    /// Whether messages may name answers.
    var knowsPromises: Bool { grants.features.contains(.promises) }
    /// Whether both sides know streams.
    var knowsStreams: Bool { grants.features.contains(.streams) }

    /// Whether both sides say in shared memory on which processor they run.
    var tellsProcessor: Bool { grants.features.contains(.processor) }

    /// Checks that the peer may send a frame or an entry of a table about a stream.
    func checkStreamsAgreed(_ what: String) throws(ProtocolViolation) {
        guard knowsStreams else { throw ProtocolViolation(.unknownName, "\(what) a stream without an agreement") }
    }

    /// Enters the peer's `Hello`.
    ///
    /// - Parameter program: That of this side, which a refusal names.
    mutating func receive(
        _ hello: HelloFrame, isInitiator: Bool, _ program: ConnectionProgram
    ) throws(ProtocolViolation) {
        try Self.check(hello, isInitiator: isInitiator, program)
        if isInitiator, hello.features.contains(.initiator) {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        grants = PeerGrants(hello)
        decision = .asked
    }

    /// Checks that both sides speak one version of the protocol.
    ///
    /// The refusal reads the same on both sides, because the peer gets it in the `Goodbye`.
    private static func check(
        _ hello: HelloFrame, isInitiator: Bool, _ program: ConnectionProgram
    ) throws(ProtocolViolation) {
        guard hello.version != ProtocolLimits.version else { return }
        let own = (version: ProtocolLimits.version, side: program.side(isInitiator: isInitiator))
        let peer = (version: hello.version, side: hello.program.side(isInitiator: !isInitiator))
        let (older, newer) = own.version < peer.version ? (own, peer) : (peer, own)
        throw ProtocolViolation(
            .incompatible,
            "\(older.side) is older: it speaks protocol version \(older.version), \(newer.side) speaks version \(newer.version)"
        )
    }
}
