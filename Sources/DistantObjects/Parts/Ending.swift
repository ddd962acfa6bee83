/// What is known about the end of a connection.
struct Ending {
    /// The content of the peer's `Goodbye`.
    struct PeerGoodbye {
        /// The number of the last frame of this side that the peer entered.
        let entered: UInt64
        let reason: GoodbyeReason?
        let text: String
    }

    /// The peer's `Goodbye`, once it has come.
    var peerGoodbye: PeerGoodbye?
    @inline(__always)
    var peerSaidGoodbye: Bool {
        if case .some = peerGoodbye { true } else { false }
    }

    /// Whether this side's `Goodbye` was written.
    ///
    /// No frame follows it.
    var saidGoodbye = false
    /// The rule of the protocol that the peer broke.
    var violation: String?
    /// Why the connection ends, once no more input comes from the peer.
    var verdict: ConnectionEnd?

    /// The reason in the peer's `Goodbye`, for a channel that this side did not end.
    var reasonOfPeer: ConnectionEnd? {
        guard let peerGoodbye else { return nil }
        return peerGoodbye.reason == .closed ? .closedByPeer(peerGoodbye.text) : .refused(peerGoodbye.text)
    }
}
