import PortTransport
import Synchronization

extension Connection {
    /// Checks that the peer answers.
    ///
    /// The peer's reading thread answers, so this works while its methods are busy.
    ///
    /// - Throws: `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func ping() async throws {
        try await control(.ping)
    }

    /// Waits until every message sent before has returned, thrown or suspended for the first time in the peer.
    ///
    /// - Throws: `ConnectionError.oneWayLost`, once, if one-way messages sent before did not run, with their number;
    ///   `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func barrier() async throws {
        try await control(.barrier)
        if let loss = state.withLock({ $0.oneWays.takeLosses() }) { throw loss }
    }

    private func control(_ kind: FrameKind) async throws {
        let wait = PingWait()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let failure = state.withLock { state -> (any Error)? in
                    guard state.phase == .open || state.phase == .closing, !state.outbox.isClosed else {
                        return ConnectionError(
                            .closed,
                            state.ending.verdict != nil ? "the connection has ended" : "the connection is closing",
                            context: name)
                    }
                    if wait.isCancelled { return CancellationError() }
                    wait.continuation = continuation
                    state.pings.send(kind, wait, to: &state.outbox)
                    return nil
                }
                if let failure { return continuation.resume(throwing: failure) }
                channel.setNeedsFlush()
            }
        } onCancel: {
            // A frame that was sent is still answered, without a waiter. One that was not is removed from the queue.
            let continuation = state.withLock { state in
                wait.isCancelled = true
                state.pings.withdraw(wait)
                return wait.continuation.take()
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}
