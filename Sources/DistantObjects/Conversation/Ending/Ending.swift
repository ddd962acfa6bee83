/// What is known about the end of a connection.
struct Ending {
    private struct Facts {
        var peerGoodbye: GoodbyeFrame?
        var peerIsClosing = false
        var violation: String?
        var verdict: ConnectionEnd?
    }

    private var facts = Rare<Facts>.missing

    /// The peer's `Goodbye`, once it has come.
    var peerGoodbye: GoodbyeFrame? {
        get { facts.value?.peerGoodbye }
        set { facts.change(orNew: Facts()) { $0.peerGoodbye = newValue } }
    }
    /// Whether the peer has begun to close.
    ///
    /// The peer says so in its answers to calls that come before its `Goodbye` is sent.
    var peerIsClosing: Bool {
        get { facts.value?.peerIsClosing ?? false }
        set { facts.change(orNew: Facts()) { $0.peerIsClosing = newValue } }
    }
    @inline(__always)
    var peerSaidGoodbye: Bool {
        if case .missing = facts { false } else { peerGoodbye != nil }
    }

    /// The rule of the protocol that the peer broke.
    var violation: String? {
        get { facts.value?.violation }
        set { facts.change(orNew: Facts()) { $0.violation = newValue } }
    }
    /// Why the connection ends, once no more input comes from the peer.
    var verdict: ConnectionEnd? {
        get { facts.value?.verdict }
        set { facts.change(orNew: Facts()) { $0.verdict = newValue } }
    }

    /// The reason in the peer's `Goodbye`, for a channel that this side did not end.
    var reasonOfPeer: ConnectionEnd? {
        guard let peerGoodbye else { return nil }
        return peerGoodbye.reason == .closed ? .closedByPeer(peerGoodbye.text) : .refused(peerGoodbye.text)
    }
}
