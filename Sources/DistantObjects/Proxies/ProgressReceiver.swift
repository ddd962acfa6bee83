/// Hears of the progress of a call: an argument of the call, where the method takes a ``ProgressReporter``.
///
/// ```swift
/// let count: Int = try await library.index(path, ProgressReceiver { print($0.completed) })
/// ```
///
/// It lives as long as the other process may report to it.
public final class ProgressReceiver: Vendable {
    private let handler: @Sendable (CallProgress) -> Void

    /// - Parameter handler: Called for each report, in order, on the connection's loop. The last ones may come while the
    ///   caller goes on with the answer already.
    public init(_ handler: @escaping @Sendable (CallProgress) -> Void) {
        self.handler = handler
    }

    /// What a ``ProgressReporter`` sends.
    public static var messages: MessageTable<ProgressReceiver> {
        Message("report", ProgressReceiver.report)
    }

    func report(_ completed: Int64, _ total: Int64?) {
        handler(CallProgress(completed: completed, total: total))
    }
}
