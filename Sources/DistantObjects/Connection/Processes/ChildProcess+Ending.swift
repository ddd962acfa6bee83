import PortTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

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

    /// Ends a program after a failed handshake.
    ///
    /// One that does not end within a second is killed.
    ///
    /// - Returns: The error for the caller, and how the program has ended.
    func failedLaunch(_ error: any Error, _ transport: Transport) async -> FailedLaunch {
        let loop = EventLoop.shared
        // A program that has ended its side may be about to exit: many close their standard output first.
        let mayExit = (error as? ConnectionError)?.code == .closed
        let own = mayExit ? await exitStatus(within: .milliseconds(500), on: loop) : exitStatus
        var status = own
        if own == nil {
            terminate()
            status = await end(within: .milliseconds(mayExit ? 250 : 500), on: loop)
        }
        return FailedLaunch(error: described(error, transport, own), child: self, status: status)
    }

    /// - Parameter status: How the program has ended by itself; nil if it was ended for this error.
    private func described(_ error: any Error, _ transport: Transport, _ status: ExitStatus?) -> any Error {
        guard let error = error as? ConnectionError else { return error }
        switch (error.code, status?.told) {
        case (.closed, let told?):
            return ConnectionError(
                .closed, "the program \(told) before it was connected with Connection.parent()",
                context: error.context)
        case (.handshakeTimeout, let told?):
            return ConnectionError(
                .handshakeTimeout,
                "\(error.message); the program \(told), and a process that it has started holds the connection",
                context: error.context)
        case (.protocolViolation, _) where transport == .pipes:
            return error.ofPrinting
        default:
            return error
        }
    }
}

extension ChildProcess.ExitStatus {
    /// How a program has ended, as the rest of a sentence; nil if that is not known.
    fileprivate var told: String? {
        switch self {
        case .exited(let status): "ended with status \(status)"
        case .signalled: "was ended by \(self)"
        case .unknown: nil
        }
    }
}

extension ConnectionError {
    /// A violation by a program whose standard output is the connection, with the usual cause.
    var ofPrinting: ConnectionError {
        ConnectionError(
            .protocolViolation,
            "\(message); a program launched over pipes must call Connection.parent() before it prints",
            context: context, underlying: self)
    }
}

/// An action that the first of two events performs.
private final class Waiting: Sendable {
    private let action: Mutex<(@Sendable (ChildProcess.ExitStatus?) -> Void)?>

    init(_ action: @escaping @Sendable (ChildProcess.ExitStatus?) -> Void) { self.action = Mutex(action) }

    func end(_ status: ChildProcess.ExitStatus?) { action.withLock { $0.take() }?(status) }
}
