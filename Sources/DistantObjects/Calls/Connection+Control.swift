import PortTransport
import Synchronization

extension Connection {
    /// Asks the peer for a sign of life.
    ///
    /// Returns when the peer's reading thread has answered; its methods may be busy all the while.
    /// - Throws: `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func ping() async throws {
        try await control(.ping)
    }

    /// Waits until the peer has handled every message sent before: one-way messages have run, or thrown, or suspended.
    ///
    /// - Throws: `ConnectionError.oneWayLost`, once, if one-way messages sent before did not run: how many, and the first;
    ///   `ConnectionError.closed` if the connection ends first; `CancellationError` at once if the task is cancelled.
    public func barrier() async throws {
        try await control(.barrier)
        if let loss = state.withLock({ $0.oneWays.takeLosses() }) { throw loss }
    }

    private func control(_ kind: FrameKind) async throws {
        let wait = ControlWait()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let failure = state.withLock { state -> (any Error)? in
                    guard state.phase == .open || state.phase == .closing, !state.ending.saidGoodbye else {
                        return ConnectionError(
                            .closed,
                            state.ending.verdict != nil ? "the connection has ended" : "the connection is closing",
                            context: name)
                    }
                    if wait.isCancelled { return CancellationError() }
                    wait.continuation = continuation
                    state.writeControl(kind, wait)
                    return nil
                }
                if let failure { return continuation.resume(throwing: failure) }
                channel.setNeedsFlush()
            }
        } onCancel: {
            // What was sent is answered all the same; nobody waits for it. What was not is not kept for a peer that hangs.
            let continuation = state.withLock { state in
                wait.isCancelled = true
                state.controls.withdraw(wait)
                return wait.continuation.take()
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}
