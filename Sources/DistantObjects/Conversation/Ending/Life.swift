/// How far a conversation has come, and why it ends.
///
///     handshake --(both sides have accepted each other)--> open --(this side closes in order)--> closing
///     handshake, open, closing --(no more input comes from the peer)--> ending --(every table is empty)--> ended
///
/// A peer that closes in order says so in its answers, and then in its `Goodbye`. After that it takes no more calls, but reads on
/// until its own are answered.
struct Life {
    enum Phase: UInt8 {
        /// The peer's `Hello` has not been accepted.
        case handshake
        case open
        /// This side has begun an orderly close: no new calls in either direction; answers are still sent.
        case closing
        /// No more input comes from the peer, and this side's calls have failed. Calls of the peer that were read still start.
        case ending
        case ended
    }

    /// What is known about the end.
    private struct Facts {
        var peerGoodbye: GoodbyeFrame?
        var peerIsClosing = false
        var decision: ConnectionEnd?
        var violation: String?
        var verdict: ConnectionEnd?
    }

    private(set) var phase = Phase.handshake
    private var facts = Rare<Facts>.missing

    mutating func enter(_ next: Phase) {
        assert(next.rawValue > phase.rawValue)
        phase = next
    }

    /// Whether neither side has begun to close.
    @inline(__always)
    var isOpen: Bool { phase == .open && !peerSaidGoodbye }

    /// The peer's `Goodbye`, once it has come.
    var peerGoodbye: GoodbyeFrame? {
        get { facts.value?.peerGoodbye }
        set { facts.change(orNew: Facts()) { $0.peerGoodbye = newValue } }
    }
    @inline(__always)
    var peerSaidGoodbye: Bool {
        if case .missing = facts { false } else { peerGoodbye != nil }
    }
    /// Whether the peer has begun to close.
    var peerIsClosing: Bool {
        get { facts.value?.peerIsClosing ?? false }
        set { facts.change(orNew: Facts()) { $0.peerIsClosing = newValue } }
    }
    /// The rule of the protocol that the peer broke.
    var violation: String? {
        get { facts.value?.violation }
        set { facts.change(orNew: Facts()) { $0.violation = newValue } }
    }

    // MARK: The reason

    /// Why the connection ends, once no more input comes from the peer.
    var verdict: ConnectionEnd? { facts.value?.verdict }

    /// Notes why this side ends the connection; the first reason stays.
    mutating func decide(_ end: ConnectionEnd) {
        facts.change(orNew: Facts()) { if $0.decision == nil { $0.decision = end } }
    }

    /// Ends the life of the calls, and says why the connection ends.
    ///
    /// - Parameter channel: The reason that the end of the channel gives by itself. It counts if neither side has given one.
    mutating func end(_ channel: ConnectionEnd) -> ConnectionEnd {
        enter(.ending)
        let end = violation.map { .protocolViolation($0) } ?? facts.value?.decision ?? reasonOfPeer ?? channel
        facts.change(orNew: Facts()) { $0.verdict = end }
        return end
    }

    /// The reason in the peer's `Goodbye`.
    var reasonOfPeer: ConnectionEnd? {
        guard let peerGoodbye else { return nil }
        return peerGoodbye.reason == .closed ? .closedByPeer(peerGoodbye.text) : .refused(peerGoodbye.text)
    }
}
