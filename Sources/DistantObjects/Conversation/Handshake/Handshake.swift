import KeyedArchive

/// The exchange of `Hello` frames at the start of a connection.
struct Handshake {
    /// The grants in the peer's `Hello`.
    var grants = PeerGrants()
    /// Whether the accept rule has accepted the peer.
    ///
    /// Until then the peer's calls wait, which may come right after the peer's `Hello`.
    var isAccepted = false

    var hasPeersHello: Bool { grants.message > 0 }

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
    }
}
