import PortTransport

/// Waits for a connection's beginning and end, and bounds them.
struct ConnectionLife {
    var handshake: CheckedContinuation<Void, any Error>?
    var handshakeHook: (@Sendable (Bool) -> Void)?
    var handshakeOutcome: Result<Void, any Error>?
    var handshakeTimer: TimerToken?
    /// Bounds how long the peer may keep the stream open after a Goodbye that ended it.
    var goodbyeTimer: TimerToken?
    var keepaliveTimer: TimerToken?
    var dropTimer: TimerToken?
    var end: ConnectionEnd?
    /// Why this side ended it, if it did.
    var decision: ConnectionEnd?
    var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
    /// The listener's, which has accepted the connection.
    var endHook: (@Sendable () -> Void)?
}
