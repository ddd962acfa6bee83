@_spi(Queues) import PortTransport

/// The pings and barriers of this side, and the answers to the peer's.
struct Controls {
    /// State that most connections never need, in an object of its own.
    private final class Waits: @unchecked Sendable {  // Guarded by the connection's lock.
        /// The pings and barriers that are sent and not answered, by token.
        var sent: [UInt64: ControlWait] = [:]
        /// The pings and barriers that wait because too many are unanswered.
        var waiting = Ring<(kind: FrameKind, wait: ControlWait)>()
        var nextToken: UInt64 = 0
        /// The frame numbers of this side's answers that may not be written yet.
        var unwrittenPongs = Ring<UInt64>()
    }

    /// Nil until this side sends a ping or a barrier, or answers one.
    private var made: Waits?
    private var waits: Waits {
        mutating get {
            if let made { return made }
            let waits = Waits()
            made = waits
            return waits
        }
    }
    /// The barriers of the peer.
    var barriers = BarrierCounts()

    /// Returns a token for a ping or barrier to send now; queues it and returns nil if too many are unanswered.
    mutating func begin(_ kind: FrameKind, _ wait: ControlWait) -> UInt64? {
        guard waits.sent.count < ProtocolLimits.barriers else {
            waits.waiting.append((kind, wait))
            return nil
        }
        defer { waits.nextToken += 1 }
        waits.sent[waits.nextToken] = wait
        return waits.nextToken
    }

    /// Returns the waiter whose ping or barrier the peer has answered.
    mutating func answered(_ token: UInt64) throws(ProtocolViolation) -> ControlWait {
        guard let wait = waits.sent.removeValue(forKey: token) else {
            throw ProtocolViolation(.outOfStep, "a Pong answers nothing")
        }
        return wait
    }

    /// Removes and returns the oldest one that is not sent.
    mutating func popWaiting() -> (kind: FrameKind, wait: ControlWait)? { waits.waiting.popFirst() }

    /// Removes one from the queue because its waiter has given up.
    mutating func withdraw(_ wait: ControlWait) { _ = waits.waiting.removeFirst { $0.wait === wait } }

    /// Removes all of this side's, at the end of the connection.
    mutating func removeAll() -> [UnsafeContinuation<Void, any Error>] {
        guard let waits = made else { return [] }
        let all = Array(waits.sent.values) + waits.waiting.removeAll().map(\.wait)
        waits.sent = [:]
        return all.compactMap { $0.continuation.take() }
    }

    /// Notes that an answer was written as the frame with this number.
    ///
    /// - Throws: If too many answers are unsent because the peer does not read.
    mutating func wrotePong(_ number: UInt64, isWritten: (UInt64) -> Bool) throws(ProtocolViolation) {
        waits.unwrittenPongs.append(number)
        guard waits.unwrittenPongs.count > ProtocolLimits.unwrittenPongs else { return }
        while let first = waits.unwrittenPongs.first, isWritten(first) { _ = waits.unwrittenPongs.popFirst() }
        guard waits.unwrittenPongs.count <= ProtocolLimits.unwrittenPongs else {
            throw ProtocolViolation(
                .overLimit, "more than \(ProtocolLimits.unwrittenPongs) pings are unanswered, and no answer is read")
        }
    }
}
