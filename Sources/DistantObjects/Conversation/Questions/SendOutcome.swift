/// The outcome of an attempt to send a message.
enum SendOutcome<Value: Sendable>: Sendable {
    case written(Value)
    /// The message waits for credit or room.
    case waiting(Value)
    case failed(any Error)
}
