internal import PortTransport

/// The configuration of a connection's state.
///
/// Connections with the defaults share one object.
final class ConversationSettings: Sendable {
    let limits: ConnectionLimits
    /// As this side introduces itself.
    let program: ConnectionProgram
    /// The traffic at which the connection switches to shared memory; nil if it never does.
    let sharesMemoryWhen: BusyTraffic?

    /// The window of large messages, in bytes.
    let window: Int

    private init(
        _ limits: ConnectionLimits, _ program: ConnectionProgram, _ sharesMemoryWhen: BusyTraffic?, window: UInt64
    ) {
        self.limits = limits
        self.program = program
        self.sharesMemoryWhen = sharesMemoryWhen
        self.window = Int(clamping: window)
    }

    static let plain = ConversationSettings(
        ConnectionLimits(), .ofThisProcess, BusyTraffic(), window: ChannelConfiguration.defaultWindow)

    static func of(
        _ limits: ConnectionLimits, _ program: ConnectionProgram = .ofThisProcess, sharesMemoryWhen busy: BusyTraffic?,
        window: UInt64 = ChannelConfiguration.defaultWindow
    ) -> ConversationSettings {
        if limits == plain.limits, program == plain.program, busy == plain.sharesMemoryWhen, window == plain.window {
            return plain
        }
        return ConversationSettings(limits, program, busy, window: window)
    }
}
