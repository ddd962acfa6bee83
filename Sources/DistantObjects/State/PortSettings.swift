/// What a connection's state is configured with; nearly all connections of a process hold the same.
final class PortSettings: Sendable {
    let limits: ConnectionLimits
    /// From which traffic on a connection shares memory; nil if it never does.
    let sharesMemoryWhen: BusyTraffic?

    private init(_ limits: ConnectionLimits, _ sharesMemoryWhen: BusyTraffic?) {
        self.limits = limits
        self.sharesMemoryWhen = sharesMemoryWhen
    }

    private static let plain = PortSettings(ConnectionLimits(), BusyTraffic())

    static func of(_ limits: ConnectionLimits, sharesMemoryWhen busy: BusyTraffic?) -> PortSettings {
        if limits == plain.limits, busy == plain.sharesMemoryWhen { return plain }
        return PortSettings(limits, busy)
    }
}
