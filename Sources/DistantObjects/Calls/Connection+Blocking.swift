import Dispatch
public import PortTransport
import Synchronization

// For programs without tasks.
extension Connection {
    /// As `open`, for plain threads: blocks until the connection is there.
    ///
    /// - Throws: As `open`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public static func blockingOpen(
        _ address: Address, waitingUpTo limit: Duration? = nil, configuration: Configuration = .init()
    ) throws -> Connection {
        try blocking("open", configuration) {
            try await open(address, waitingUpTo: limit, configuration: configuration)
        }
    }

    /// As `launch`, for plain threads: blocks until the helper is connected.
    ///
    /// - Throws: As `launch`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public static func blockingLaunch(
        _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: String? = nil,
        standardError: CInt? = nil, over transport: ChildProcess.Transport = .socketpair,
        configuration: Configuration = .init()
    ) throws -> Connection {
        try blocking("launch", configuration) {
            try await launch(
                executable, arguments: arguments, environment: environment, in: directory, standardError: standardError,
                over: transport, configuration: configuration)
        }
    }

    /// As `close`, for plain threads: blocks until the connection has ended.
    ///
    /// - Returns: As `close`: the one-way messages that did not run.
    /// - Throws: `ConnectionError.wouldBlock` on the loop's threads and in tasks, where nothing is done.
    @discardableResult
    public func blockingClose(within limit: Duration = .seconds(5)) throws -> OneWayLosses {
        try Self.blocking("close", configuration) { await self.close(within: limit) }
    }

    /// Runs the body as a task of the loop, and waits for it.
    private static func blocking<Result: Sendable>(
        _ name: String, _ configuration: Configuration, _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        guard currentTask() == 0, !EventLoop.isOnThread else {
            throw ConnectionError(
                .wouldBlock, "what blocks would stop a connection's loop or a task: use the async function here",
                context: name)
        }
        let loop = try configuration.loop ?? eventLoop(configuration)
        let outcome = Outcome<Result>()
        Task.detached(executorPreference: loop) {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        guard let result = try outcome.get() else {
            throw ConnectionError(.closed, "nothing came of it", context: name)
        }
        return result
    }
}

/// A result that a thread waits for.
private final class Outcome<Value: Sendable>: Sendable {
    private let isSet = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        isSet.signal()
    }

    /// To be called once.
    func get() throws -> Value? {
        isSet.wait()
        return try result.withLock { $0 }?.get()
    }
}

/// Uses a connection and closes it on every way out: when the body returns, when it throws, and when its task is cancelled.
///
/// ```swift
/// let count: Int = try await withConnection(.open(.path(path))) { connection in
///     try await connection.root.add(foo)
/// }
/// ```
///
/// - Parameters:
///   - connection: One that is open.
///   - limit: How long closing may take; then the connection is cut.
///   - body: What to do with it. It may be closed there, too.
/// - Returns: What the body returns, once the connection has ended.
public func withConnection<Result>(
    _ connection: Connection, closingWithin limit: Duration = .seconds(5),
    _ body: (Connection) async throws -> Result
) async throws -> Result {
    do {
        let result = try await body(connection)
        await connection.close(within: limit)
        return result
    } catch {
        await connection.close(within: limit)
        throw error
    }
}
