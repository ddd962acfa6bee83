import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// A process of ssh stands between this process and its peer: its end is not that of the peer, and it may go on when the peer has ended.
extension ChildProcess {
    /// The status with which ssh ends if it has failed itself.
    private static let shellFailure: Int32 = 255

    /// The exit status, if it is that of the peer.
    func ofPeer(_ status: ExitStatus) -> ExitStatus? {
        guard let session else { return status }
        if !session.shell.isTunnel, case .exited(let number) = status, number != Self.shellFailure { return status }
        return nil
    }

    /// Asks ssh to end if it leads to a socket and the connection has ended: otherwise it would go on.
    ///
    /// If it has ended by itself already, as when the link is lost, its status says so.
    private func endTunnel() { if session?.shell.isTunnel == true { terminate() } }

    /// How a connection has ended whose process may have ended, too.
    ///
    /// - Parameter status: How it has ended; nil if it goes on.
    private func end(with status: ExitStatus?) -> ConnectionEnd {
        guard let session else { return .lost(status) }
        guard let status else { return .lost(nil) }
        if let own = ofPeer(status) { return .lost(own) }
        let lines = session.errors.lines
        var number: Int32?
        if case .exited(let exit) = status { number = exit }
        var fault = session.shell.fault(number, "\(status)", lines)
        let wasTold = session.shell.isTunnel && (status == .signalled(SIGTERM) || number != nil)
        if fault == nil, !wasTold {
            fault = TransportError(
                .unreachable, "ssh to \(session.shell.host) was ended by \(status)\(SecureShell.quoted(lines))",
                context: [session.shell.host])
        }
        return fault.map { .failed(ConnectionError(.closed, $0.message, underlying: $0)) } ?? .lost(nil)
    }

    /// Calls an action with the end of a connection that was lost, once it is known how the process has ended, or after a limit.
    func whenKnown(
        within limit: Duration, on loop: any PortLoop, _ action: @escaping @Sendable (ConnectionEnd) -> Void
    ) {
        endTunnel()
        whenExited(within: limit, on: loop) { [self] status in
            guard let session, status != nil else { return action(end(with: status)) }
            session.errors.whenRead(on: loop) { action(self.end(with: status)) }
        }
    }

    /// How long ssh may take to end after its output.
    private static let shellTime = Duration.milliseconds(500)

    /// As `whenKnown`, for a calling thread that waits.
    func knownEnd(awaitedFor limit: Duration) -> ConnectionEnd {
        endTunnel()
        guard let session else { return .lost(exitStatus(awaitedFor: limit)) }
        let status = exitStatus(awaitedFor: Self.shellTime)
        if status != nil { session.errors.waitUntilRead(for: Self.shellTime) }
        return end(with: status)
    }

    /// Ends ssh after the end of its connection.
    ///
    /// - Parameters:
    ///   - end: The end of the connection.
    ///   - patience: How long the command may take to exit by itself after an orderly end.
    ///   - loop: The loop of the connection.
    func endShell(after end: ConnectionEnd, _ patience: Duration, on loop: any PortLoop) {
        let patience: Duration =
            switch end {
            case .closedHere, .closedByPeer: session?.shell.isTunnel == true ? .zero : patience
            case .lost: .zero
            // A refusal may still have to go through it.
            case .refused, .refusedHere, .protocolViolation, .failed: Self.shellTime
            }
        let timers = [
            loop.addTimer(after: patience) { self.terminate() },
            loop.addTimer(after: patience + .seconds(1)) { self.kill() },
        ]
        whenExited { [session] _ in
            for timer in timers { loop.cancelTimer(timer) }
            // Another process, such as a master for several connections, may hold the pipe for longer.
            session?.errors.whenRead(on: loop) {}
        }
    }

    /// Ends ssh after it has not led to a connection.
    ///
    /// - Returns: The error for the caller.
    func shellFailure(_ error: any Error, _ session: SecureShellSession) async -> any Error {
        let loop = EventLoop.shared
        let mayExit = (error as? ConnectionError)?.code == .closed && !session.shell.isTunnel
        let isTold = !mayExit && exitStatus == nil
        if isTold { terminate() }
        let status = await end(within: .milliseconds(500), on: loop)
        await session.errors.finish(on: loop)
        guard !(error is CancellationError) else { return error }
        let known = error as? ConnectionError
        let lines = session.errors.lines
        var number: Int32?
        // The status of one that was asked to end says nothing.
        if !isTold, case .exited(let exit)? = status { number = exit }
        if let fault = session.shell.fault(number, status.map { "\($0)" } ?? "", lines) {
            return ConnectionError(.transport, fault.message, context: known?.context, underlying: fault)
        }
        guard let known else { return error }
        let (host, said) = (session.shell.host, SecureShell.quoted(lines))
        switch (known.code, status) {
        case (.closed, let status?) where !session.shell.isTunnel:
            let meaning =
                switch status {
                case .exited(127): "there is no such command on \(host)"
                case .exited(126): "the command cannot be run on \(host)"
                case .exited: "the command on \(host) has ended with \(status) before it called Connection.parent()"
                default: "ssh to \(host) was ended by \(status)"
                }
            return ConnectionError(.closed, meaning + said, context: known.context)
        case (.protocolViolation, _):
            return ConnectionError(
                .protocolViolation,
                "\(known.message); what \(host) prints at login, or the command before Connection.parent(), must not go to "
                    + "standard output\(said)", context: known.context, underlying: known)
        default:
            return ConnectionError(
                known.code, known.message + said, context: known.context, underlying: known.underlying ?? known)
        }
    }
}
