import PortTransport

/// The time at which a caller gives up.
struct Deadline {
    /// The duration that the caller gave.
    let limit: Duration
    /// In nanoseconds of the loop's clock.
    private let end: UInt64

    /// - Parameter now: In nanoseconds of the loop's clock.
    init(after limit: Duration, at now: UInt64) {
        self.limit = limit
        let (sum, isFar) = now.addingReportingOverflow(limit.nanoseconds)
        end = isFar ? .max : sum
    }

    /// The deadline at an instant.
    ///
    /// - Parameters:
    ///   - end: In nanoseconds of the loop's clock.
    ///   - now: The time now.
    init(at end: UInt64, now: UInt64) {
        limit = .nanoseconds(Int64(clamping: end > now ? end - now : 0))
        self.end = end
    }

    /// Whether the deadline is after an instant of the loop's clock.
    func isAfter(_ instant: UInt64) -> Bool { end > instant }

    /// The microseconds left, rounded up.
    func microseconds(at now: UInt64) -> UInt64 { end > now ? (end - now - 1) / 1_000 + 1 : 0 }
}
