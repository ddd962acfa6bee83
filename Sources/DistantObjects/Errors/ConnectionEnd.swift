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

extension ConnectionEnd: CustomStringConvertible {
    /// Who ended it and why: “the peer is gone”.
    public var description: String {
        switch self {
        case .closedHere: "this side closed the connection"
        case .closedByPeer: "the peer closed the connection"
        case .lost(nil), .lost(.unknown): "the peer is gone"
        case .lost(.exited(let status)): "the helper has ended with status \(status)"
        case .lost(.signalled(let signal)): "the helper was ended by signal \(signal)"
        case .refused(let text): "the peer refused: \(text)"
        case .refusedHere(let text): "this side refused the peer: \(text)"
        case .protocolViolation(let text): "the peer broke the protocol: \(text)"
        case .failed(let error): "the connection failed: \(error)"
        }
    }

    /// What a handshake that ends so throws.
    var handshakeCode: ConnectionError.Code {
        switch self {
        case .refused, .refusedHere: .peerRefused
        case .protocolViolation: .protocolViolation
        default: .closed
        }
    }
}
