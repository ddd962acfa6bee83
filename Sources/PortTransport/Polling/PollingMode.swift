/// Whether threads poll before they sleep.
package enum PollingMode: Sendable, Hashable {
    /// They sleep at once.
    case off
    /// They poll where that was worth it before; see `PollingPolicy`.
    case adaptive
    /// They poll that long each time.
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

    /// How long a thread polls in the mode of that code; nil: as its policy says.
    static func nanoseconds(_ code: UInt64) -> UInt64? { code == codeOfAdaptive ? nil : code }
}
