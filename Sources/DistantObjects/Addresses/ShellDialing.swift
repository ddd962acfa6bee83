import PortTransport

/// Connects by way of ssh.
struct ShellDialing {
    /// The pauses between tries to connect to ssh.
    private static let pauses = (shortest: Duration.milliseconds(1), longest: Duration.milliseconds(50))

    private let shell: SecureShell

    init(_ shell: SecureShell) { self.shell = shell }

    /// Starts ssh, and opens a connection over it.
    ///
    /// - Parameter establish: Opens the connection.
    /// - Throws: What `establish` throws, with what ssh says; `ConnectionError.transport`; `CancellationError`. Nothing is left of ssh
    ///   then.
    func connect<Opened>(
        _ establish: (ChannelEndpoint, ChildProcess) async throws -> Opened
    ) async throws -> Opened {
        guard shell.isTunnel else {
            let (child, endpoint) = try transporting { () throws(TransportError) in try ChildProcess.launch(shell) }
            return try await explaining(child) { try await establish(endpoint, child) }
        }
        let folder = try transporting { () throws(TransportError) in try TunnelFolder() }
        defer { folder.remove() }
        let child = try transporting { () throws(TransportError) in
            try ChildProcess.launchTunnel(shell, at: folder.socket)
        }
        return try await explaining(child) {
            let endpoint = try await endpoint(at: folder.socket, of: child)
            // Nobody else is to connect.
            folder.remove()
            return try await establish(endpoint, child)
        }
    }

    /// Connects to the socket that ssh listens at once it has logged in.
    private func endpoint(at socket: String, of child: ChildProcess) async throws -> ChannelEndpoint {
        let begin = ContinuousClock.now
        var pause = Self.pauses.shortest
        while true {
            do { return try ChannelEndpoint.connectStream(path: socket) } catch {
                guard error.code == .notFound || error.code == .nobodyListens else {
                    throw ConnectionError(.transport, error.message, context: shell.host, underlying: error)
                }
            }
            if child.exitStatus != nil {
                throw ConnectionError(.closed, "ssh has ended before it was connected", context: shell.host)
            }
            guard begin.duration(to: .now) < shell.limit else {
                throw ConnectionError(
                    .handshakeTimeout, "ssh was not connected within \(shell.limit)", context: shell.host)
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.pauses.longest)
        }
    }

    private func explaining<Result>(_ child: ChildProcess, _ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch {
            guard let session = child.session else { throw error }
            throw await child.shellFailure(error, session)
        }
    }

    private func transporting<Result>(_ body: () throws(TransportError) -> Result) throws -> Result {
        do { return try body() } catch {
            throw ConnectionError(.transport, error.message, context: shell.host, underlying: error)
        }
    }
}
