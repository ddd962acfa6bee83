import PortTransport
import Synchronization

extension Connection: LoopUser {
    /// Waits until both sides have accepted each other.
    func handshake() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = life.withLock { life -> Result<Void, any Error>? in
                    if life.handshakeOutcome == nil { life.handshake = continuation }
                    return life.handshakeOutcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            invalidate()
        }
    }

    /// Starts reading, sends the `Hello` of an initiator, and starts the timer of the handshake.
    package func begin() {
        if configuration.onEvent != nil { LoopWatch.shared.add(self) }
        channel.start(self)
        if isInitiator {
            let canShare = channel.canShare
            state.withLock { state in
                state.writeHello(configuration.programName, isInitiator: true, sharesMemory: canShare)
            }
            channel.setNeedsFlush()
        }
        let timeout = configuration.handshakeTimeout
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
            if life.handshakeOutcome == nil { life.handshakeTimer = timer }
            return life.handshakeOutcome != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// Calls the hook when the handshake has ended, with whether it succeeded.
    func whenHandshakeEnds(_ hook: @escaping @Sendable (Bool) -> Void) {
        let outcome = life.withLock { life in
            if life.handshakeOutcome == nil { life.handshakeHook = hook }
            return life.handshakeOutcome
        }
        switch outcome {
        case .success: hook(true)
        case .failure: hook(false)
        case nil: break
        }
    }

    func handshakeEnded(_ error: (any Error)?) {
        let over = life.withLock { life -> ConnectionLife? in
            guard life.handshakeOutcome == nil else { return nil }
            let before = life
            life.handshakeOutcome = error.map { .failure($0) } ?? .success(())
            life.handshake = nil
            life.handshakeHook = nil
            life.handshakeTimer = nil
            return before
        }
        guard let over else { return }
        if let timer = over.handshakeTimer { loop.cancelTimer(timer) }
        over.handshakeHook?(error == nil)
        if let error { over.handshake?.resume(throwing: error) } else { over.handshake?.resume() }
    }
}
