import PortTransport
import Synchronization

// A connection stays open when its user forgets to close it. The event `dropped` reports a connection that no code can close
// any more.
extension Connection {
    /// The time from the handshake to the first check.
    private static let firstCheck = Duration.seconds(1)
    /// The longest time between two checks.
    ///
    /// Each is twice as long as the one before, up to this.
    private static let longestPause = Duration.seconds(64)

    /// Checks from time to time whether the connection was dropped, if there is an event handler.
    ///
    /// A connection with roots is never dropped, because the peer can use them.
    func checkWhetherDropped(after pause: Duration = firstCheck) {
        guard settings.onEvent != nil else { return }
        // The channel exists while the connection is open, and is the only holder of a dropped connection.
        let timer = loop.addTimer(after: pause) { [channel] in
            guard let connection = Self.dropped(channel) else {
                guard let connection = channel.handler as? Connection, !connection.vendsRoots else { return }
                return connection.checkWhetherDropped(after: min(pause * 2, Self.longestPause))
            }
            connection.reportOnLoop(.dropped)
        }
        let isOver = life.withLock { life in
            life.dropTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// The channel's connection, if only the channel refers to it.
    ///
    /// Calls of this side and their tasks, running methods and proxies hold their connection.
    private static func dropped(_ channel: Channel) -> Connection? {
        // A resting task holds the connection, too.
        (channel.handler as? Connection)?.dismissResting()
        guard channel.holdsHandlerAlone, let connection = channel.handler as? Connection else { return nil }
        let isReachable = connection.state.withLock {
            $0.phase != .open || $0.exportCount > 0 || $0.streams.outgoingCount > 0
        }
        return isReachable || connection.vendsRoots ? nil : connection
    }

    private func dismissResting() {
        state.withContent { $0.rest.take() }?.dismiss()
    }
}
