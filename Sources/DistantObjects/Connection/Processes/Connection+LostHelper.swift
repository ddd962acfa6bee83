import PortTransport

extension Connection {
    /// How long the thread that finds the end of a helper's output waits for the helper's exit status.
    ///
    /// Usually the status is there at once. A helper that goes on without its connection makes errors this much later.
    private static let statusTime = Duration.milliseconds(100)

    /// Adds the exit status to the end of a connection whose helper dies at this moment.
    ///
    /// So the errors of its calls say what has happened to it. Nobody waits if the end has another reason, or if a process
    /// that is not the helper has spoken over the connection.
    func addingExitStatus(to end: ConnectionEnd) -> ConnectionEnd {
        guard case .lost(nil) = end, let child, child.pid == peer?.pid ?? child.pid else { return end }
        let hasReason = state.withLock { state in
            state.ending.verdict != nil || state.ending.violation != nil || state.ending.peerSaidGoodbye
        }
        return hasReason ? end : .lost(child.exitStatus(awaitedFor: Self.statusTime))
    }
}
