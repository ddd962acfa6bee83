public import DistantObjects

extension Connection {
    /// Waits until every table of the connection is empty.
    ///
    /// References are released shortly after their last proxy is freed, so this checks for a while.
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
    /// The tables as text.
    public var tables: String {
        "\(exports) objects given, \(imports) objects held, \(questions) questions, \(answers) answers"
    }
}
