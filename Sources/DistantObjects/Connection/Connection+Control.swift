import PortTransport
import Synchronization

extension Connection {
    /// Asks the peer for a sign of life.
    ///
    /// - Returns: When the peer's reading thread has answered; its methods may be busy all the while.
    /// - Throws: `ConnectionError.closed` if the connection ends first.
    public func ping() async throws {
        try await control(.ping)
    }

    /// Waits until the peer has handled every message sent before: one-way messages have run, or thrown, or suspended.
    ///
    /// - Throws: `ConnectionError.closed` if the connection ends first.
    public func barrier() async throws {
        try await control(.barrier)
    }

    private func control(_ kind: FrameKind) async throws {
        try await withUnsafeThrowingContinuation { continuation in
            let failure = state.withLock { state -> ConnectionError? in
                guard state.phase == .open || state.phase == .closing, !state.goodbyeSent else {
                    return state.whyClosed ?? ConnectionError(.closed, "the connection is closing")
                }
                state.commitControl(kind, continuation, to: channel)
                return nil
            }
            if let failure { return continuation.resume(throwing: failure) }
            channel.setNeedsFlush()
        }
    }
}
