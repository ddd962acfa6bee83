@testable import DistantObjects

extension Conversation {
    /// Sends a ping or a barrier.
    mutating func send(_ kind: FrameKind) { pings.send(kind, PingWait(), to: &outbox) }

    /// Enters a Pong of the peer.
    mutating func receivePong(_ token: UInt64) throws { _ = try pings.receive(PongFrame(token: token), &outbox) }
}
