/// Reports the progress of a call.
///
/// It is a parameter of the method. The caller passes a ``ProgressReceiver``, or by an interface, whose signature says
/// `ProgressReporter`, a reporter to one.
///
/// ```swift
/// func index(_ path: String, _ progress: ProgressReporter) async throws -> Int
/// ```
public struct ProgressReporter: Codable, Sendable {
    private let receiver: DistantObject

    /// Makes a reporter to a receiver of this process, to be passed to a method here or by an interface.
    public init(to receiver: ProgressReceiver) {
        self.receiver = DistantObject(standingFor: receiver)
    }

    /// Decodes the reference to the receiver.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if the decoder belongs to no connection.
    public init(from decoder: any Decoder) throws {
        receiver = try decoder.singleValueContainer().decode(DistantObject.self)
    }

    /// Encodes the reference to the receiver, so that all copies of the reporter report to the same receiver.
    ///
    /// - Throws: `ConnectionError.notEncodable` if the encoder belongs to no connection; `.foreignReference` if it belongs to
    ///   another connection than the receiver.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(receiver)
    }

    /// Reports progress to the caller, from any thread, without waiting.
    ///
    /// A report is dropped if the queue for one-way messages is full on either side, or if the connection has ended. Each report
    /// costs a one-way message. The caller gets them in order, and may handle the last ones after the call has returned.
    public func report(_ completed: Int64, of total: Int64? = nil) {
        if let local = receiver.local(as: ProgressReceiver.self) { return local.report(completed, total) }
        // An error that ends the connection also ends the call, so it is not reported here. Nor are lost messages: the code
        // that sent them gets that error.
        let message = receiver.message("report")
        _ = try? message.offer(message.encoded(completed, total, timeout: nil), reportsLosses: false)
    }
}
