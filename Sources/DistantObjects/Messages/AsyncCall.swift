import KeyedArchive

/// A running call of an `async` method: its target, its arguments, and where its result goes.
protocol AsyncCall: AnyObject, Sendable {
    var object: AnyObject { get }
    /// Encodes the result.
    func encode<Value>(_ result: Value, _ writer: Unmanaged<AnyValueCoder>) throws
    /// Has the closure write the answer, whatever it is, into a message.
    func answer(_ write: @Sendable (OutboundMessage) async throws -> Void) async throws
    /// Decodes the next argument. Called once for each, in order.
    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value
}
