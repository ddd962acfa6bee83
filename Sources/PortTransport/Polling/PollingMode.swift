/// Whether threads poll before they sleep.
package enum PollingMode: Sendable, Hashable {
    /// Threads sleep at once.
    case off
    /// Threads poll where polls were answered before; see `PollingPolicy`.
    case adaptive
    /// Threads poll for the given time before each sleep.
    case always(Duration)

    private static let codeOfAdaptive = UInt64.max

    /// The mode as one number, so that threads can read it without a lock.
    var code: UInt64 {
        switch self {
        case .off: 0
        case .adaptive: Self.codeOfAdaptive
        case .always(let duration): min(duration.nanoseconds, Self.codeOfAdaptive - 1)
        }
    }

    /// How long a thread polls in the mode with the given code; nil if a `PollingPolicy` decides.
    static func nanoseconds(_ code: UInt64) -> UInt64? { code == codeOfAdaptive ? nil : code }
}
