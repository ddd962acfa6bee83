import PortTransport

/// The waiters, hooks and timers for the handshake and the end of a connection.
struct ConnectionLife {
    var handshake: CheckedContinuation<Void, any Error>?
    var handshakeHook: (@Sendable (Bool) -> Void)?
    var handshakeOutcome: Result<Void, any Error>?
    var handshakeTimer: TimerToken?
    /// Limits how long the peer may keep the stream open after its Goodbye.
    var goodbyeTimer: TimerToken?
    var keepaliveTimer: TimerToken?
    var dropTimer: TimerToken?
    var end: ConnectionEnd?
    /// The reason of this side for ending the connection, if it did.
    var decision: ConnectionEnd?
    var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
    /// What users want to be called at the end, by registration.
    var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] = [:]
    /// The number of registrations so far.
    var registrations: UInt64 = 0
    /// The hook of the listener that has accepted the connection.
    var endHook: (@Sendable () -> Void)?
}
