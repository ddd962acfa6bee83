import PortTransport

/// A program that is started as the other end of a connection.
struct ProgramLaunch {
    let executable: String
    var arguments: [String] = []
    var environment: [String: String] = [:]
    var directory: String?
    /// A descriptor, borrowed until `connect` returns.
    var standardError: CInt?
    var transport = ChildProcess.Transport.socketpair
    var options = ChildProcess.Options()
    var configuration = Connection.Configuration()

    /// Starts the program and connects to it.
    ///
    /// - Throws: `FailedLaunch`. The process has ended then, or could not be ended.
    func connect() async throws(FailedLaunch) -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? executable
        let (child, endpoint) = try started(configuration)
        do {
            let connection = try await Connection.establish(endpoint, configuration, isInitiator: true, child: child)
            connection.watchChild()
            return connection
        } catch {
            throw await child.failedLaunch(error, transport)
        }
    }

    private func started(
        _ configuration: Connection.Configuration
    ) throws(FailedLaunch) -> (ChildProcess, ChannelEndpoint) {
        do {
            _ = try Connection.eventLoop(configuration)
            return try Connection.transporting(executable) {
                try ChildProcess.launch(
                    ChildProcess.located(executable), arguments: arguments, environment: environment, in: directory,
                    standardError: standardError, over: transport, options: options)
            }
        } catch {
            throw FailedLaunch(error: error)
        }
    }
}

/// The failure of a launch, with what is known of the process.
struct FailedLaunch: Error {
    /// The error for the caller.
    let error: any Error
    /// The process; nil if none was started.
    var child: ChildProcess?
    /// How the process has ended; nil if it goes on.
    var status: ChildProcess.ExitStatus?
}
