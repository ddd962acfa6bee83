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

    /// A deadline at an instant of the loop's clock, in nanoseconds.
    init(at end: UInt64) {
        limit = .zero
        self.end = end
    }

    /// The microseconds left, rounded up.
    func microseconds(at now: UInt64) -> UInt64 { end > now ? (end - now - 1) / 1_000 + 1 : 0 }
}
