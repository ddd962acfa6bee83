import PortTransport
import Synchronization

extension ChildProcess {
    /// Waits until the process has ended, and ends it if that takes too long.
    ///
    /// It is asked to end after `patience`, and killed after twice that time. If the system does not end it within five seconds
    /// more, it is left alone.
    ///
    /// - Returns: How it ended; nil if it still runs.
    @discardableResult
    func end(within patience: Duration, on loop: any PortLoop) async -> ExitStatus? {
        let timers = [
            loop.addTimer(after: patience) { self.terminate() },
            loop.addTimer(after: patience * 2) { self.kill() },
        ]
        let status = await exitStatus(within: patience * 2 + .seconds(5), on: loop)
        for timer in timers { loop.cancelTimer(timer) }
        return status
    }

    /// Waits until the process has ended, or until the time is over.
    private func exitStatus(within limit: Duration, on loop: any PortLoop) async -> ExitStatus? {
        await withCheckedContinuation { continuation in
            whenExited(within: limit, on: loop) { continuation.resume(returning: $0) }
        }
    }

    /// Calls the action once, with the exit status, or with nil if the process still runs after the time.
    func whenExited(within limit: Duration, on loop: any PortLoop, _ action: @escaping @Sendable (ExitStatus?) -> Void)
    {
        let waiting = Waiting(action)
        let timer = loop.addTimer(after: limit) { waiting.end(nil) }
        whenExited { status in
            loop.cancelTimer(timer)
            waiting.end(status)
        }
    }
}

/// An action that the first of two events performs.
private final class Waiting: Sendable {
    private let action: Mutex<(@Sendable (ChildProcess.ExitStatus?) -> Void)?>

    init(_ action: @escaping @Sendable (ChildProcess.ExitStatus?) -> Void) { self.action = Mutex(action) }

    func end(_ status: ChildProcess.ExitStatus?) { action.withLock { $0.take() }?(status) }
}
