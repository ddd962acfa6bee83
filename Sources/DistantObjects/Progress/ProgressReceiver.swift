/// Receives the progress of a call.
///
/// Pass it as the argument for a ``ProgressReporter`` parameter.
///
/// ```swift
/// let count: Int = try await library.index(path, ProgressReceiver { print($0.completed) })
/// ```
///
/// It stays alive as long as the other process can report to it.
public final class ProgressReceiver: Vendable {
    private let handler: @Sendable (CallProgress) -> Void

    /// Makes a receiver that calls a handler for each report.
    ///
    /// - Parameter handler: Called for each report, in order, on the connection's event loop. The last reports may arrive after
    ///   the call has returned.
    public init(_ handler: @escaping @Sendable (CallProgress) -> Void) {
        self.handler = handler
    }

    /// The message that a ``ProgressReporter`` sends.
    public static var messages: MessageTable<ProgressReceiver> {
        Message("report", ProgressReceiver.report)
    }

    func report(_ completed: Int64, _ total: Int64?) {
        handler(CallProgress(completed: completed, total: total))
    }
}
