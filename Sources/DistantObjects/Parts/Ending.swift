/// What is known of a connection's end.
struct Ending {
    /// What the peer said in its `Goodbye`.
    struct PeerGoodbye {
        /// How many frames of ours it took.
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

    /// Ours was written: nothing follows it.
    var saidGoodbye = false
    /// The rule of the protocol that the peer broke.
    var violation: String?
    /// Why the connection ends, once nothing more comes from the peer.
    var verdict: ConnectionEnd?

    /// Why the connection ends, if its channel ended for no reason of ours.
    var reasonOfPeer: ConnectionEnd? {
        guard let peerGoodbye else { return nil }
        return peerGoodbye.reason == .closed ? .closedByPeer(peerGoodbye.text) : .refused(peerGoodbye.text)
    }
}
