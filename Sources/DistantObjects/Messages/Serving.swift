import KeyedArchive

/// What an `async` message needs to run: its target, the arguments and a place for the result.
protocol Serving: AnyObject, Sendable {
    var object: AnyObject { get }
    /// Encodes the result.
    func encode<Value>(_ result: Value, _ codec: ValueCodec<Value>) throws
    /// Decodes the next argument, asked for in order.
    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value
}
