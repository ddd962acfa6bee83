/// One-way messages that were sent and did not run.
public struct OneWayLosses: Sendable {
    /// How many.
    public let count: Int
    /// What is known of the first.
    public let first: ConnectionError?
}
