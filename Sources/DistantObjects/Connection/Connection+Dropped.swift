import PortTransport
import Synchronization

// A connection stays open when its user forgets it. One that nobody can reach any more is told of, as nothing else ever would.
extension Connection {
    /// How long after the handshake it is looked for the first time.
    private static let firstLook = Duration.seconds(1)
    /// Each look comes twice as long after the one before, but not longer.
    private static let longestPause = Duration.seconds(64)

    /// Looks from time to time whether anything can still use the connection, for those who hear of events.
    ///
    /// What is vended is there for the peer, so that a connection with roots is never forgotten.
    func lookWhetherDropped(after pause: Duration = firstLook) {
        guard configuration.onEvent != nil else { return }
        // The channel lasts as long as the connection is open, and alone holds one that was dropped.
        let timer = loop.addTimer(after: pause) { [channel] in
            guard let connection = Self.dropped(channel) else {
                guard let connection = channel.handler as? Connection, connection.roots.isEmpty else { return }
                return connection.lookWhetherDropped(after: min(pause * 2, Self.longestPause))
            }
            connection.reportOnLoop(.dropped)
        }
        let isOver = life.withLock { life in
            life.dropTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// The channel's connection, if nothing but the channel refers to it.
    ///
    /// A call of ours and its task, a method that runs, a proxy: each holds its connection.
    private static func dropped(_ channel: Channel) -> Connection? {
        // A task that only waits to serve another call holds it as well.
        (channel.handler as? Connection)?.dismissResting()
        guard channel.holdsHandlerAlone, let connection = channel.handler as? Connection else { return nil }
        let isReachable = connection.state.withLock { $0.phase != .open || $0.exports.count > 1 }
        return isReachable || !connection.roots.isEmpty ? nil : connection
    }

    private func dismissResting() {
        state.withContent { $0.rest.take() }?.dismiss()
    }
}
