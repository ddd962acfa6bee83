import PortTransport

/// A task, or a thread that runs none, that waits for something without a value: room for a message, items of a stream, or its
/// end.
enum VoidWaiter {
    case task(UnsafeContinuation<Void, any Error>)
    case thread(BlockingCall)

    /// Ends the wait.
    ///
    /// - Parameters:
    ///   - error: Why it fails; nil if it does not.
    ///   - channel: The channel that the thread reads while it waits.
    func resume(_ error: (any Error)? = nil, on channel: Channel) {
        switch self {
        case .task(let continuation):
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
        case .thread(let call):
            _ = call.complete(error.map { .failure($0) } ?? .success(nil))
            if !call.isOwn { channel.signalBlockingReaders() }
        }
    }

    /// Whether the waiter is a thread that waits in that call.
    func isThread(in call: BlockingCall) -> Bool {
        if case .thread(let own) = self { own === call } else { false }
    }
}
