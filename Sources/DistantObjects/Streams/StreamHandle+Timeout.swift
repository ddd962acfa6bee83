import PortTransport

/// A wait of a task that ends at the latest after a time.
final class TimedWait: @unchecked Sendable {
    // Guarded by the connection's lock.

    /// Whether the time has passed while the task waited.
    var isLate = false
    /// Whether the task no longer waits.
    var isOver = false
}

extension StreamHandle {
    /// Waits until the next frame or the end is there.
    ///
    /// - Returns: Whether the time has passed.
    func waitForFrame(within limit: Duration) async -> Bool {
        let wait = TimedWait()
        let timer = connection.loop.addTimer(after: limit) { [connection, inbox] in
            let waiter = connection.state.withLock { _ -> VoidWaiter? in
                guard !wait.isOver else { return nil }
                wait.isLate = true
                return inbox.waiter.take()
            }
            waiter?.resume(on: connection.channel)
        }
        await waitForFrame(wait)
        connection.loop.cancelTimer(timer)
        return connection.state.withLock { _ in
            wait.isOver = true
            return wait.isLate
        }
    }

    /// How long a peer may take to answer a ping, when an element of a stream has not come in time.
    private static let pingPatience = Duration.seconds(1)

    /// The error for an element that has not come in time, which says whether the peer still answers.
    func noElement(within limit: Duration) async -> ConnectionError {
        let ping = Task(executorPreference: connection.loop) { [connection] in
            try await connection.ping()
        }
        let timer = connection.loop.addTimer(after: Self.pingPatience) { ping.cancel() }
        let outcome: String
        do {
            try await ping.value
            outcome = "the other process answers a ping"
        } catch is CancellationError {
            outcome = "the other process has not answered a ping within \(Self.pingPatience) either"
        } catch {
            outcome = sentence(for: error)
        }
        connection.loop.cancelTimer(timer)
        return ConnectionError(
            .deadlineExceeded, "no element came within \(limit); \(outcome)",
            context: "a stream over \(connection.name)")
    }
}
