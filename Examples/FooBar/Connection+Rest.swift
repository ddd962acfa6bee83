public import DistantObjects

extension Connection {
    /// Waits until every table is empty: no reference is held, no call runs.
    ///
    /// References are released a moment after their last proxy is gone, so this looks again for a while.
    /// - Returns: The counters; those of a connection at rest, or after `Patience.limit` those that are left.
    public func rest() async -> ConnectionStatistics {
        let deadline = ContinuousClock.now + Patience.limit
        while !statistics.isAtRest, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(10))
        }
        return statistics
    }
}

extension ConnectionStatistics {
    /// The tables in words.
    public var tables: String {
        "\(exports) objects given, \(imports) objects held, \(questions) questions, \(answers) answers"
    }
}
