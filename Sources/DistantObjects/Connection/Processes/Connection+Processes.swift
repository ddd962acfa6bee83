import PortTransport
import Synchronization

// The processes that are probably the peer: the one that this process has launched, and the one that has launched it. Over a
// socket the kernel says which process has sent the first bytes, and the channel ends with it. Where that is not known, as over
// pipes, the end of such a process proves nothing, because it may have passed the connection on.
extension Connection {
    /// Watches the process that was launched.
    ///
    /// Call this after the handshake.
    func watchChild() {
        child?.whenExited { [channel] status in
            (channel.handler as? Connection)?.childExited(status)
        }
    }

    private func childExited(_ status: ChildProcess.ExitStatus) {
        // Then the channel is about to end by itself.
        if channel.watchesPeer, channel.peer?.pid == child?.pid { return }
        askPeer(orEndAs: .lost(status)) { self.reportOnLoop(.childExited(status)) }
    }

    package func peerMayBeGone() { askPeer(orEndAs: .lost(nil)) {} }

    /// Sends a ping, and ends the connection if no answer comes in time.
    private func askPeer(orEndAs end: ConnectionEnd, onAnswer: @escaping @Sendable () -> Void) {
        let timer = loop.addTimer(after: settings.handshakeTimeout) { [self] in
            // A process that is known to speak may be slow.
            guard !channel.watchesPeer else { return }
            life.withLock { if $0.decision == nil { $0.decision = end } }
            channel.cancel(.byThisSide)
        }
        Task {
            let isAnswered: Void? = try? await ping()
            loop.cancelTimer(timer)
            if isAnswered != nil { onAnswer() }
        }
    }
}
