import PortTransport

/// Measures for how long something has not been used, by looking at it from time to time.
struct IdleWatch {
    /// What a look finds.
    struct Use {
        /// Whether it is in use now.
        var isBusy: Bool
        /// A number that changes with each use.
        var activity: UInt64
    }

    /// How many times it is looked at within the limit.
    private static let looks: UInt64 = 4
    /// A limit of zero must not keep a processor busy.
    private static let shortestPause: UInt64 = 1_000_000

    private let limit: UInt64
    /// The activity at the last look, and since when it is the same; nil if it was in use then.
    private var idle: (activity: UInt64, since: UInt64)?

    init(limit: Duration) { self.limit = limit.nanoseconds }

    /// The time from one look to the next.
    var pause: Duration { .nanoseconds(Int64(clamping: max(limit / Self.looks, Self.shortestPause))) }

    /// Looks.
    ///
    /// - Parameter now: The instant, by the clock of a loop.
    /// - Returns: Whether it has been idle for the limit.
    mutating func isOver(_ use: Use, at now: UInt64) -> Bool {
        guard !use.isBusy else {
            idle = nil
            return false
        }
        if let idle, idle.activity == use.activity { return now >= idle.since && now - idle.since >= limit }
        idle = (use.activity, now)
        return false
    }
}
