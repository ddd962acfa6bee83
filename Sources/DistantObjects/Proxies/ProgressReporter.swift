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

    /// Encodes the reporter as a reference to its receiver, so that each copy reports to the same one.
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
