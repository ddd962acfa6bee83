import PortTransport

/// The waiters, hooks and timers for the handshake and the end of a connection.
struct ConnectionLife {
    private struct Ending {
        var goodbyeTimer: TimerToken?
        var end: ConnectionEnd?
        var decision: ConnectionEnd?
    }

    private var ending = Rare<Ending>.missing
    var handshake: CheckedContinuation<Void, any Error>?
    var handshakeHook: (@Sendable (Bool) -> Void)?
    var handshakeOutcome: Result<Void, any Error>?
    var handshakeTimer: TimerToken?
    var keepaliveTimer: TimerToken?
    var dropTimer: TimerToken?
    /// Limits how long the peer may keep the stream open after its Goodbye.
    var goodbyeTimer: TimerToken? {
        get { ending.value?.goodbyeTimer }
        set { ending.change(orNew: Ending()) { $0.goodbyeTimer = newValue } }
    }
    var end: ConnectionEnd? {
        get { ending.value?.end }
        set { ending.change(orNew: Ending()) { $0.end = newValue } }
    }
    /// The reason of this side for ending the connection, if it did.
    var decision: ConnectionEnd? {
        get { ending.value?.decision }
        set { ending.change(orNew: Ending()) { $0.decision = newValue } }
    }
    var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
    /// What users want to be called at the end, by registration.
    var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] = [:]
    /// The number of registrations so far.
    var registrations: UInt64 = 0
    /// The hook of the listener that has accepted the connection.
    var endHook: (@Sendable () -> Void)?
}
