/// The one-way messages that were sent and did not run.
public struct OneWayLosses: Sendable {
    /// The number of messages.
    public let count: Int
    /// Why the first one did not run; nil if there is none.
    public let first: ConnectionError?
}
