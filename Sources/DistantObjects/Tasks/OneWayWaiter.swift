/// A waiter for a one-way message to be written.
enum OneWayWaiter {
    case task(UnsafeContinuation<Void, any Error>)
    case blocking(BlockingCall)

    func complete(_ error: (any Error)?, _ connection: Connection) {
        switch self {
        case .task(let continuation):
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
        case .blocking(let call):
            _ = call.complete(error.map { .failure($0) } ?? .success(nil))
            if !call.isOwn { connection.channel.signalBlockingReaders() }
        }
    }
}
