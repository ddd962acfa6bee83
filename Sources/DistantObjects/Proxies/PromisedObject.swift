/// What a proxy stands for that was made before its object was known.
enum PromisedObject: Sendable {
    /// The answer to a call over the proxy's connection.
    case answer(Ticket)
    /// The call could not be sent; every message to the promise throws this error.
    case failed(any Error)
}
