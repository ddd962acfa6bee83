/// The exchange of `Hello` frames at the start of a connection.
struct Handshake {
    /// The grants in the peer's `Hello`.
    var grants = PeerGrants()
    /// Whether the accept rule has accepted the peer.
    ///
    /// Until then the peer's calls wait, which may come right after the peer's `Hello`.
    var isAccepted = false

    var hasPeersHello: Bool { grants.message > 0 }
}
