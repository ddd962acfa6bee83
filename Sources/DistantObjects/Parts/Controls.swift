/// Pings and barriers: those of this side, and what the peer is owed for its own.
struct Controls {
    /// Those that were sent and not answered, by their token.
    private var sent: [UInt64: ControlWait] = [:]
    /// Those that wait until fewer are unanswered.
    private var waiting = Fifo<(kind: FrameKind, wait: ControlWait)>()
    private var nextToken: UInt64 = 0
    /// The barriers of the peer.
    var barriers = BarrierCounts()
    /// The numbers of our answers to the peer's, as far as they may not be written.
    private var unwrittenPongs = Fifo<UInt64>()

    /// Takes a token for one that is sent now; nil if it has to wait.
    mutating func begin(_ kind: FrameKind, _ wait: ControlWait) -> UInt64? {
        guard sent.count < ProtocolLimits.barriers else {
            waiting.append((kind, wait))
            return nil
        }
        defer { nextToken += 1 }
        sent[nextToken] = wait
        return nextToken
    }

    /// The peer has answered.
    mutating func answered(_ token: UInt64) throws(ProtocolViolation) -> ControlWait {
        guard let wait = sent.removeValue(forKey: token) else {
            throw ProtocolViolation(.outOfStep, "a Pong answers nothing")
        }
        return wait
    }

    /// Takes out the one that has waited longest for its turn.
    mutating func popWaiting() -> (kind: FrameKind, wait: ControlWait)? { waiting.popFirst() }

    /// Nobody waits for that one any more; it is not sent if it was not.
    mutating func withdraw(_ wait: ControlWait) { _ = waiting.removeFirst { $0.wait === wait } }

    /// Ends all of this side's.
    mutating func removeAll() -> [UnsafeContinuation<Void, any Error>] {
        let all = Array(sent.values) + waiting.removeAll().map(\.wait)
        sent = [:]
        return all.compactMap { $0.continuation.take() }
    }

    /// An answer to the peer was written under that number.
    ///
    /// - Throws: If it reads none of too many.
    mutating func wrotePong(_ number: UInt64, isWritten: (UInt64) -> Bool) throws(ProtocolViolation) {
        unwrittenPongs.append(number)
        guard unwrittenPongs.count > ProtocolLimits.unwrittenPongs else { return }
        while let first = unwrittenPongs.first, isWritten(first) { _ = unwrittenPongs.popFirst() }
        guard unwrittenPongs.count <= ProtocolLimits.unwrittenPongs else {
            throw ProtocolViolation(
                .overLimit, "more than \(ProtocolLimits.unwrittenPongs) pings are unanswered, and no answer is read")
        }
    }
}
