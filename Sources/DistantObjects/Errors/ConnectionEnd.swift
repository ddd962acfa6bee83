public import PortTransport

/// Why a connection ended.
public enum ConnectionEnd: Sendable {
    /// This side closed or invalidated it.
    case closedHere
    /// The peer closed it in order.
    case closedByPeer(String)
    /// The peer died or its connection was cut: it ended without a goodbye.
    ///
    /// Of a helper that this process has launched, how it ended; `nil` of other peers, and of a helper that goes on without
    /// its connection.
    case lost(ChildProcess.ExitStatus?)
    /// The peer refused the connection, or ended it for something this side did wrong.
    case refused(String)
    /// This side refused the peer, by the accept rule or because the handshake took too long.
    case refusedHere(String)
    /// The peer broke a rule of the protocol.
    case protocolViolation(String)
    /// The system reported an error.
    case failed(any Error)
}
