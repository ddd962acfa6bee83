/// The progress of a call, as its method reports it.
public struct CallProgress: Sendable, Hashable {
    /// The work done, in units that the method chooses.
    public let completed: Int64
    /// The work in all, in the same units; nil if the method does not know it.
    public let total: Int64?

    /// Makes a report of the work done and the work in all.
    public init(completed: Int64, total: Int64? = nil) {
        self.completed = completed
        self.total = total
    }

    /// The part that is done, clamped to 0...1; nil without a positive total.
    public var fraction: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, max(0, Double(completed) / Double(total)))
    }
}
