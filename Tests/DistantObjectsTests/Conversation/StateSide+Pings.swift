@testable import DistantObjects

extension Conversation {
    /// Sends a ping or a barrier.
    mutating func send(_ kind: FrameKind) { session.pings.send(kind, PingWait(), to: &session.outbox) }

    /// Enters a Pong of the peer.
    mutating func receivePong(_ token: UInt64) throws {
        _ = try session.pings.receive(PongFrame(token: token), &session.outbox)
    }
}
