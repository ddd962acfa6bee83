import KeyedArchive

/// A running call of an `async` method: its target, its arguments, and where its result goes.
protocol AsyncCall: AnyObject, Sendable {
    var object: AnyObject { get }
    /// Encodes the result.
    func encode<Value>(_ result: Value, _ writer: Unmanaged<AnyValueCoder>) throws
    /// Has the closure write the answer, whatever it is, into a message.
    func answer(_ write: @Sendable (OutboundMessage) async throws -> Void) async throws
    /// Runs a synchronous method on an object, and encodes its result.
    func run(_ method: MessageBody, on object: AnyObject) throws
    /// Waits for a time on the loop's clock.
    ///
    /// - Throws: `CancellationError` when the call is cancelled.
    func pause(for duration: Duration) async throws
    /// Decodes the next argument. Called once for each, in order.
    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value
}
