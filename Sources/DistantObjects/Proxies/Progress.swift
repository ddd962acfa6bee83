/// How far a call has come, as the method that answers it says.
public struct CallProgress: Sendable, Hashable {
    /// What is done, in units of the method's own.
    public let completed: Int64
    /// What there is to do, in the same units; nil if the method cannot tell.
    public let total: Int64?

    /// Progress as a method counts it.
    public init(completed: Int64, total: Int64? = nil) {
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1, whatever the other process reported; nil without a total.
    public var fraction: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, max(0, Double(completed) / Double(total)))
    }
}
