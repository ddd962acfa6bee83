/// The configuration of a connection's state.
///
/// Connections with the defaults share one object.
final class PortSettings: Sendable {
    let limits: ConnectionLimits
    /// The traffic at which the connection switches to shared memory; nil if it never does.
    let sharesMemoryWhen: BusyTraffic?

    private init(_ limits: ConnectionLimits, _ sharesMemoryWhen: BusyTraffic?) {
        self.limits = limits
        self.sharesMemoryWhen = sharesMemoryWhen
    }

    static let plain = PortSettings(ConnectionLimits(), BusyTraffic())

    static func of(_ limits: ConnectionLimits, sharesMemoryWhen busy: BusyTraffic?) -> PortSettings {
        if limits == plain.limits, busy == plain.sharesMemoryWhen { return plain }
        return PortSettings(limits, busy)
    }
}
