import KeyedArchive
import PortTransport

// The two Hellos, which begin a conversation.
extension Conversation {
    mutating func receiveHello(
        _ reader: inout WireReader, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard phase == .handshake, !handshake.hasPeersHello else {
            throw ProtocolViolation(.outOfStep, "a second Hello")
        }
        let hello = try HelloFrame(reading: &reader)
        if host.isInitiator, hello.features.contains(.initiator) {
            throw ProtocolViolation(.outOfStep, "both sides greet first, or the stream leads back to its sender")
        }
        handshake.grants = PeerGrants(hello)
        credit.begin(handshake.grants, runningCalls: limits.runningCalls)
        // By its Hello the peer has accepted this side, and may call from now on.
        if host.isInitiator { enter(.open) }
        actions.append(.decideOnPeer(name: hello.name))
    }

    /// Refuses the peer, as the accept rule decided.
    mutating func refusePeer(_ reason: String, _ actions: inout [Action<Host>]) {
        writeGoodbye(.refused, reason)
        for call in ready.removeAll() { actions.append(.release(call)) }
    }

    /// Accepts the peer, as the accept rule decided.
    ///
    /// - Returns: Whether the connection is open now, and whether calls wait to be started.
    mutating func acceptPeer(_ programName: String, sharesMemory: Bool) -> (isOpen: Bool, hasCalls: Bool) {
        if phase == .handshake {
            writeHello(programName, isInitiator: false, sharesMemory: sharesMemory)
            enter(.open)
        }
        handshake.isAccepted = true
        return (phase == .open, !ready.isEmpty)
    }

    /// Writes this side's `Hello`.
    ///
    /// - Parameter sharesMemory: Whether the channel supports shared memory.
    mutating func writeHello(_ programName: String, isInitiator: Bool, sharesMemory: Bool) {
        if !sharesMemory { sharing.phase = .never }
        var features = Features.all
        if sharing.phase == .never { features.subtract(.ofSharedMemory) }
        if isInitiator { features.insert(.initiator) }
        outbox.write(
            HelloFrame(
                features, queuedCalls: limits.queuedCalls, runningCalls: limits.runningCalls, message: limits.message,
                name: programName))
    }
}
