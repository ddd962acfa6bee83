import PortTransport
import Synchronization

/// A look-up of a root under way, which learns after a time whether it waits because nothing has been vended yet.
///
/// The owner holds a look-up until it vends something. It cannot tell a slow start from a `vend` that is missing, and neither can
/// the peer: so the look-up goes on until its deadline, and the event and the error of the deadline say what it has waited for.
/// The peer asks, rather than the owner refusing the look-up, so that a program of another version waits as well.
final class LookupWatch: Sendable {
    private struct State {
        var timer: TimerToken?
        var isOver = false
        /// Whether the peer has said that nothing is vended.
        var waits = false
    }

    private let loop: any PortLoop
    private let state = Mutex(State())

    /// - Parameters:
    ///   - patience: How long the look-up waits before it asks.
    ///   - hasVended: Asks the peer whether it has vended anything.
    ///   - report: Called on the loop if the peer has not, and the look-up still waits.
    init(
        on loop: any PortLoop, after patience: Duration, asking hasVended: @escaping @Sendable () async throws -> Bool,
        report: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        let timer = loop.addTimer(after: patience) { [self] in
            guard !state.withLock({ $0.isOver }) else { return }
            Task {
                // A peer of an earlier version does not know the message.
                guard try await !hasVended() else { return }
                loop.perform { [self] in
                    let isOver = state.withLock { state in
                        state.waits = true
                        return state.isOver
                    }
                    if !isOver { report() }
                }
            }
        }
        state.withLock { $0.timer = timer }
    }

    /// Ends the watch with the look-up.
    ///
    /// - Returns: The error for the caller, with what the look-up has waited for.
    func end(_ error: any Error) -> any Error {
        end()
        guard let error = error as? ConnectionError, error.code == .deadlineExceeded, state.withLock({ $0.waits })
        else {
            return error
        }
        return ConnectionError(
            .deadlineExceeded, "\(error.message): the peer has not vended anything yet", context: error.context,
            underlying: error.underlying, mayHaveRun: !error.isSafeToRetry)
    }

    /// Ends the watch with the look-up.
    func end() {
        let timer = state.withLock { state in
            state.isOver = true
            return state.timer.take()
        }
        if let timer { loop.cancelTimer(timer) }
    }
}
