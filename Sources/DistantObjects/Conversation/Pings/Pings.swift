@_spi(Queues) import PortTransport

/// The pings and barriers of both sides.
///
/// A ping is answered at once, a barrier once the calls before it are handled.
struct Pings {
    /// State that most connections never need, in an object of its own.
    private final class Waits: @unchecked Sendable {  // Guarded by the connection's lock.
        /// The pings and barriers that are sent and not answered, by token.
        var sent: [UInt64: PingWait] = [:]
        /// The pings and barriers that wait because too many are unanswered.
        var waiting = Ring<(kind: FrameKind, wait: PingWait)>()
        var nextToken: UInt64 = 0
        /// The frame numbers of the answers that this side gave at once and the channel may not have written yet.
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
    private var barriers = BarrierCounts()
    /// The frames so far that belong to pings and barriers, in both directions.
    private(set) var frames: UInt64 = 0

    // MARK: This side's

    /// Writes a ping or a barrier, or queues it if too many are unanswered.
    mutating func send(_ kind: FrameKind, _ wait: PingWait, to outbox: inout Outbox) {
        guard waits.sent.count < ProtocolLimits.barriers else { return waits.waiting.append((kind, wait)) }
        let token = waits.nextToken
        waits.nextToken += 1
        waits.sent[token] = wait
        frames += 1
        if kind == .ping { outbox.write(PingFrame(token: token)) } else { outbox.write(BarrierFrame(token: token)) }
    }

    /// Removes a ping or barrier from the queue, because its waiter has given up.
    mutating func withdraw(_ wait: PingWait) { _ = waits.waiting.removeFirst { $0.wait === wait } }

    /// Enters the peer's answer, and writes the next ping or barrier that waits.
    ///
    /// - Returns: The continuation to resume; nil if its waiter has given up.
    mutating func receive(
        _ frame: PongFrame, _ outbox: inout Outbox
    ) throws(ProtocolViolation) -> UnsafeContinuation<Void, any Error>? {
        guard let wait = waits.sent.removeValue(forKey: frame.token) else {
            throw ProtocolViolation(.outOfStep, "a Pong answers nothing")
        }
        frames += 1
        if let next = waits.waiting.popFirst() { send(next.kind, next.wait, to: &outbox) }
        return wait.continuation.take()
    }

    /// Removes all pings and barriers of this side, at the end of the connection.
    ///
    /// - Returns: The continuations to resume.
    mutating func removeAll() -> [UnsafeContinuation<Void, any Error>] {
        guard let waits = made else { return [] }
        let all = Array(waits.sent.values) + waits.waiting.removeAll().map(\.wait)
        waits.sent = [:]
        return all.compactMap { $0.continuation.take() }
    }

    // MARK: The peer's

    /// The number of barriers of the peer that wait for calls.
    var waitingBarriers: Int { barriers.waitingCount }

    /// Answers a ping.
    mutating func receive(
        _ frame: PingFrame, _ outbox: inout Outbox, isWritten: (UInt64) -> Bool
    ) throws(ProtocolViolation) {
        frames += 1
        try answer(frame.token, &outbox, isWritten)
    }

    /// Enters a barrier, and answers it if all calls before it are handled.
    mutating func receive(
        _ frame: BarrierFrame, _ outbox: inout Outbox, isWritten: (UInt64) -> Bool
    ) throws(ProtocolViolation) {
        guard barriers.waitingCount < ProtocolLimits.barriers else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.barriers) barriers wait")
        }
        frames += 1
        for token in barriers.barrier(frame.token) { try answer(token, &outbox, isWritten) }
    }

    /// Counts a call that the barriers after it wait for.
    ///
    /// - Returns: The epoch to pass to `handled(_:_:)`.
    @inline(__always)
    mutating func enterCall() -> UInt32 { barriers.enter() }

    /// Counts a call as handled, and answers the barriers that have no more calls to wait for.
    mutating func handled(_ epoch: UInt32, _ outbox: inout Outbox) {
        for token in barriers.handled(epoch) {
            frames += 1
            outbox.write(PongFrame(token: token))
        }
    }

    /// Writes an answer.
    ///
    /// - Throws: If too many answers are unsent because the peer does not read.
    private mutating func answer(
        _ token: UInt64, _ outbox: inout Outbox, _ isWritten: (UInt64) -> Bool
    ) throws(ProtocolViolation) {
        frames += 1
        outbox.write(PongFrame(token: token))
        waits.unwrittenPongs.append(outbox.written)
        guard waits.unwrittenPongs.count > ProtocolLimits.unwrittenPongs else { return }
        while let first = waits.unwrittenPongs.first, isWritten(first) { _ = waits.unwrittenPongs.popFirst() }
        guard waits.unwrittenPongs.count <= ProtocolLimits.unwrittenPongs else {
            throw ProtocolViolation(
                .overLimit, "more than \(ProtocolLimits.unwrittenPongs) pings are unanswered, and no answer is read")
        }
    }
}
