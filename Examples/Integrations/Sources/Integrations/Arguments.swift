public import ArgumentParser
public import DistantObjects

/// The options of a command that calls a service.
public struct ServiceOptions: ParsableArguments {
    /// Where the service is.
    @Option(
        help: ArgumentHelp(
            "The service: its name, a path, exec:PROGRAM, or ssh-exec:HOST:COMMAND on another machine.",
            valueName: "address"), transform: { try ConnectionAddress($0) })
    public var at: ConnectionAddress

    /// How long to wait for an answer, in seconds.
    @Option(help: ArgumentHelp("How long to wait for an answer.", valueName: "seconds"))
    public var timeout: Double?

    /// The options without values.
    public init() {}

    /// Opens a connection to the service.
    public func open(_ configuration: Connection.Configuration = .init()) async throws -> Connection {
        var configuration = configuration
        configuration.callTimeout = timeout.map { .seconds($0) } ?? configuration.callTimeout
        return try await Connection.open(at, configuration: configuration)
    }
}
