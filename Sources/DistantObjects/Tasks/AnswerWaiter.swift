/// A waiter for the answer to a call.
enum AnswerWaiter {
    case task(UnsafeContinuation<Reply, any Error>)
    /// The scope's task, which waits inside its job, or is about to suspend.
    case scope(Unmanaged<CallScope>)
    case blocking(BlockingCall)
    /// Nothing waits: the call is a promise.
    case promise

    /// Completes the call with an answer.
    ///
    /// Unlike `complete(_:_:)` it moves the answer, for the usual case.
    func complete(with reply: consuming Reply, _ connection: Connection) {
        switch self {
        case .task(let continuation):
            continuation.resume(returning: reply)
        case .scope(let scope):
            connection.answer(scope, .success(reply))
        case .blocking(let call):
            guard call.complete(.success(reply)) else { return connection.perform([.discard(reply)], onLoop: false) }
            if !call.isOwn { connection.channel.signalBlockingReaders() }
        case .promise:
            connection.perform([.discard(reply)], onLoop: false)
        }
    }

    func complete(_ result: sending Result<Reply, any Error>, _ connection: Connection) {
        switch self {
        case .task(let continuation):
            continuation.resume(with: result)
        case .scope(let scope):
            connection.answer(scope, result)
        case .blocking(let call):
            guard call.complete(result.map { $0 }) else {
                guard case .success(let reply) = result else { return }
                return connection.perform([.discard(reply)], onLoop: false)
            }
            if !call.isOwn { connection.channel.signalBlockingReaders() }
        case .promise:
            break
        }
    }
}

extension AnswerWaiter {
    /// Whether the waiter is the task of a given scope, waiting inside its job.
    @inline(__always)
    func isScope(_ scope: Unmanaged<CallScope>) -> Bool {
        if case .scope(let own) = self { own.toOpaque() == scope.toOpaque() } else { false }
    }
}
