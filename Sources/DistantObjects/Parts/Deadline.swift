import PortTransport

/// When a caller gives up.
struct Deadline {
    /// As the caller gave it.
    let limit: Duration
    /// By the loop's clock.
    private let end: UInt64

    /// - Parameter now: By the loop's clock.
    init(after limit: Duration, at now: UInt64) {
        self.limit = limit
        let (sum, isFar) = now.addingReportingOverflow(limit.nanoseconds)
        end = isFar ? .max : sum
    }

    /// How many microseconds are left, rounded up.
    func microseconds(at now: UInt64) -> UInt64 { end > now ? (end - now - 1) / 1_000 + 1 : 0 }
}
