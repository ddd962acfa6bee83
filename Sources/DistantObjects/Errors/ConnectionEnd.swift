public import PortTransport

/// Why a connection ended.
public enum ConnectionEnd: Sendable {
    /// This side closed or invalidated it.
    case closedHere
    /// The peer closed it in order.
    case closedByPeer(String)
    /// The connection ended without a goodbye: the peer died, or the connection was cut.
    ///
    /// The value is the exit status of a helper that this process launched; `nil` for other peers, and for a helper that
    /// keeps running.
    case lost(ChildProcess.ExitStatus?)
    /// The peer refused the connection, or ended it because of an error of this side.
    case refused(String)
    /// This side refused the peer, by the accept rule or because the handshake took too long.
    case refusedHere(String)
    /// The peer broke a rule of the protocol.
    case protocolViolation(String)
    /// The system reported an error, the link to another machine was lost, or the peer was silent for too long.
    case failed(any Error)

    /// Whether one of the sides closed the connection in order or invalidated it, so that a log need not warn.
    ///
    /// A side that has invalidated it sees `closedHere`; its peer sees `lost`, which is not in order.
    public var isOrderly: Bool {
        switch self {
        case .closedHere, .closedByPeer: true
        case .lost, .refused, .refusedHere, .protocolViolation, .failed: false
        }
    }
}

extension ConnectionEnd: CustomStringConvertible {
    /// The reason as text, for example “the peer is gone”, without control characters.
    public var description: String { PlainText.lines(text) }

    private var text: String {
        switch self {
        case .closedHere: "this side closed the connection"
        case .closedByPeer: "the peer closed the connection"
        case .lost(nil), .lost(.unknown): "the peer is gone"
        case .lost(.exited(let status)?): "the helper has ended with status \(status)"
        case .lost(let status?): "the helper was ended by \(status)"
        case .refused(let text): "the peer refused: \(text)"
        case .refusedHere(let text): "this side refused the peer: \(text)"
        case .protocolViolation(let text): "the peer broke the protocol: \(text)"
        case .failed(let error): "the connection failed: \(error)"
        }
    }

    /// The code of the error that a handshake throws if the connection ends this way.
    var handshakeCode: ConnectionError.Code {
        switch self {
        case .refused, .refusedHere: .peerRefused
        case .protocolViolation: .protocolViolation
        default: .closed
        }
    }
}
