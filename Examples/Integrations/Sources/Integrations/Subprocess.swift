public import DistantObjects
public import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// Runs a program whose standard input and output are a connection, and waits for its end.
///
/// - Parameters:
///   - executable: A program that calls `Connection.parent()`.
///   - body: Uses the connection, which is closed after it.
/// - Returns: What the body returns, and how the program has ended.
@discardableResult
public func withSubprocess<Result: Sendable>(
    _ executable: Executable, arguments: Arguments = [], configuration: Connection.Configuration = .init(),
    _ body: (Connection) async throws -> Result
) async throws -> (result: Result, status: TerminationStatus) {
    let streams = try StandardStreams()
    let variables = StandardStreams.environment.map { (Environment.Key(stringLiteral: $0.key), Optional($0.value)) }
    let outcome = try await run(
        executable, arguments: arguments, environment: .inherit.updating(Dictionary(uniqueKeysWithValues: variables)),
        input: .fileDescriptor(FileDescriptor(rawValue: streams.input), closeAfterSpawningProcess: false),
        output: .fileDescriptor(FileDescriptor(rawValue: streams.output), closeAfterSpawningProcess: false),
        error: .currentStandardError
    ) { _ in
        let connection = try await streams.connect(configuration: configuration)
        return try await withConnection(connection, body)
    }
    return (outcome.closureResult, outcome.terminationStatus)
}
