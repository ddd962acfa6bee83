import Synchronization

/// The outcome of the first of several events, for one task that waits.
final class FirstOutcome<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case known(Value)
    }

    private let state = Mutex(State.open)

    /// Sets the outcome, unless it is known.
    func set(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, Never>? in
            if case .known = state { return nil }
            defer { state = .known(value) }
            if case .awaited(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: value)
    }

    /// Waits for the outcome.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Value? in
                    if case .known(let value) = state { return value }
                    state = .awaited(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }
}
