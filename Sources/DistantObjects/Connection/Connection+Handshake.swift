import PortTransport
import Synchronization

extension Connection: LoopUser {
    /// Waits until both sides have accepted each other.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first, which also ends the connection.
    package func handshake() async throws {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let outcome = life.withLock { life -> Result<Void, any Error>? in
                    if let opening = life.opening { opening.waiter = continuation }
                    return life.handshakeOutcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            handshakeEnded(CancellationError())
            invalidate()
        }
    }

    /// Starts reading, sends the `Hello` of an initiator, and starts the timer of the handshake.
    package func begin() {
        if settings.onEvent != nil { LoopWatch.shared.add(self) }
        channel.start(self)
        if isInitiator {
            let canShare = channel.canShare
            let name = life.withLock { $0.configuration?.programName } ?? ""
            state.withLock { $0.writeHello(name, isInitiator: true, sharesMemory: canShare) }
            channel.setNeedsFlush()
        }
        let timeout = settings.handshakeTimeout
        // The timer is cancelled when the handshake ends.
        let timer = loop.addTimer(after: timeout) { [self] in
            guard life.withLock({ $0.handshakeOutcome == nil }) else { return }
            state.withLock { $0.writeGoodbye(.tooSlow, "no Hello came within \(timeout)") }
            handshakeEnded(
                ConnectionError(
                    .handshakeTimeout, "the peer did not finish the handshake within \(timeout)", context: name))
            endAfterGoodbye(.refusedHere("no Hello came within \(timeout)"))
        }
        let isOver = life.withLock { life in
            life.opening?.timer = timer
            return life.opening == nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// Ends the connection because this side no longer wants its peer.
    func refuse(because reason: String) {
        state.withLock { $0.writeGoodbye(.refused, reason) }
        handshakeEnded(ConnectionError(.peerRefused, reason, context: name))
        endAfterGoodbye(.refusedHere(reason))
    }

    /// Calls the hook when the handshake has ended, with whether it succeeded.
    func whenHandshakeEnds(_ hook: @escaping @Sendable (Bool) -> Void) {
        let outcome = life.withLock { life in
            life.opening?.hook = hook
            return life.handshakeOutcome
        }
        switch outcome {
        case .success: hook(true)
        case .failure: hook(false)
        case nil: break
        }
    }

    func handshakeEnded(_ error: (any Error)?) {
        guard let over = life.withLock({ $0.endHandshake(error) }) else { return }
        if let timer = over.timer { loop.cancelTimer(timer) }
        over.hook?(error == nil)
        if let error { over.waiter?.resume(throwing: error) } else { over.waiter?.resume() }
    }
}
