import KeyedArchive

/// The exchange of `Hello` frames at the start of a connection.
struct Handshake {
    /// The grants in the peer's `Hello`.
    var grants = PeerGrants()
    /// How far the decision about the peer has come.
    enum Decision {
        /// The peer's `Hello` has not come.
        case noHello
        /// The accept rule is asked, or about to be. It also ends the handshake if the connection ends meanwhile.
        case asked
        case accepted
        /// The rule has accepted the peer when the connection had ended, and ends the handshake.
        case acceptedAfterEnd
        case refused
    }

    var decision = Decision.noHello
    /// Whether the accept rule has accepted the peer.
    ///
    /// Until then the peer's calls wait, which may come right after the peer's `Hello`.
    var isAccepted: Bool {
        switch decision {
        case .accepted, .acceptedAfterEnd: true
        case .noHello, .asked, .refused: false
        }
    }

    /// Whether the accept rule ends the handshake, and not the end of the connection.
    var endsWithRule: Bool {
        switch decision {
        case .asked, .acceptedAfterEnd: true
        case .noHello, .accepted, .refused: false
        }
    }

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
    mutating func receive(_ hello: HelloFrame, isInitiator: Bool) throws(ProtocolViolation) {
        if isInitiator, hello.features.contains(.initiator) {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        grants = PeerGrants(hello)
        decision = .asked
    }
}
