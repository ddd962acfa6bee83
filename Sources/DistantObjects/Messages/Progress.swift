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

/// Says how far a call has come: the parameter of a method whose caller gives a ``ProgressReceiver``.
///
/// ```swift
/// func index(_ path: String, _ progress: ProgressReporter) async throws -> Int
/// ```
public struct ProgressReporter: Codable, Sendable {
    private let receiver: DistantObject

    /// A reporter of this process, for a method that is called without a connection.
    public init(to receiver: ProgressReceiver) {
        self.receiver = DistantObject(standingFor: receiver)
    }

    /// Takes the receiver by reference.
    ///
    /// - Throws: `ConnectionError.wrongArgument` where there is no connection.
    public init(from decoder: any Decoder) throws {
        receiver = try decoder.singleValueContainer().decode(DistantObject.self)
    }

    /// Passes the reporter on: whoever gets it reports to the same receiver.
    ///
    /// - Throws: `ConnectionError.notEncodable` where there is no connection, `foreignReference` over another one.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(receiver)
    }

    /// Tells the caller, from any thread, without waiting: a report that finds no room, here or at the caller's, or the
    /// connection at its end, is left out.
    ///
    /// Costs a one-way message, so report what somebody may want to see.
    public func report(_ completed: Int64, of total: Int64? = nil) {
        if let local = receiver.local(as: ProgressReceiver.self) { return local.report(completed, total) }
        // What ends the connection ends the call; the report has nothing to add. Nor does it tell of messages that are lost,
        // which is for who sent them.
        let message = receiver.message("report")
        _ = try? message.offer(message.encoded(completed, total, deadline: nil), tellsLosses: false)
    }
}
