/// The pings and barriers of this side, and the answers to the peer's.
struct Controls {
    /// Those that are sent and not answered, by token.
    private var sent: [UInt64: ControlWait] = [:]
    /// Those that wait because too many are unanswered.
    private var waiting = Fifo<(kind: FrameKind, wait: ControlWait)>()
    private var nextToken: UInt64 = 0
    /// The barriers of the peer.
    var barriers = BarrierCounts()
    /// The frame numbers of this side's answers that may not be written yet.
    private var unwrittenPongs = Fifo<UInt64>()

    /// Returns a token for a ping or barrier to send now; queues it and returns nil if too many are unanswered.
    mutating func begin(_ kind: FrameKind, _ wait: ControlWait) -> UInt64? {
        guard sent.count < ProtocolLimits.barriers else {
            waiting.append((kind, wait))
            return nil
        }
        defer { nextToken += 1 }
        sent[nextToken] = wait
        return nextToken
    }

    /// Returns the waiter whose ping or barrier the peer has answered.
    mutating func answered(_ token: UInt64) throws(ProtocolViolation) -> ControlWait {
        guard let wait = sent.removeValue(forKey: token) else {
            throw ProtocolViolation(.outOfStep, "a Pong answers nothing")
        }
        return wait
    }

    /// Removes and returns the oldest one that is not sent.
    mutating func popWaiting() -> (kind: FrameKind, wait: ControlWait)? { waiting.popFirst() }

    /// Removes one from the queue because its waiter has given up.
    mutating func withdraw(_ wait: ControlWait) { _ = waiting.removeFirst { $0.wait === wait } }

    /// Removes all of this side's, at the end of the connection.
    mutating func removeAll() -> [UnsafeContinuation<Void, any Error>] {
        let all = Array(sent.values) + waiting.removeAll().map(\.wait)
        sent = [:]
        return all.compactMap { $0.continuation.take() }
    }

    /// Notes that an answer was written as the frame with this number.
    ///
    /// - Throws: If too many answers are unsent because the peer does not read.
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
