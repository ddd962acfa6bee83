import Dispatch
public import PortTransport
import Synchronization

// For programs without tasks.
extension Connection {
    /// Opens a connection as `open` does, and blocks the calling thread until it is open.
    ///
    /// - Parameters:
    ///   - address: The address of the listener.
    ///   - timeout: How long to retry while no process listens there; as in `open`.
    ///   - configuration: The configuration of the connection.
    /// - Returns: A connection that both sides have accepted.
    /// - Throws: As `open`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public static func blockingOpen(
        _ address: Address, timeout: Duration = .zero, configuration: Configuration = .init()
    ) throws -> Connection {
        try blocking("open", on: configuration.loop ?? eventLoop(configuration)) {
            try await open(address, timeout: timeout, configuration: configuration)
        }
    }

    /// Launches a helper as `launch` does, and blocks the calling thread until it is connected.
    ///
    /// - Parameters:
    ///   - executable: The path of the program. A name without a slash is looked up next to this program's executable.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Variables in addition to those of this process.
    ///   - directory: The working directory of the helper; `nil` for that of this process.
    ///   - standardError: A descriptor for the helper's standard error, borrowed until this returns; `nil` for that of this
    ///     process.
    ///   - transport: A socketpair, or the helper's standard input and output, which then belong to the connection.
    ///   - options: What else the helper gets from this process.
    ///   - configuration: The configuration of the connection.
    /// - Returns: A connection that both sides have accepted. Its `child` is the process.
    /// - Throws: As `launch`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public static func blockingLaunch(
        _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: String? = nil,
        standardError: CInt? = nil, over transport: ChildProcess.Transport = .socketpair,
        options: ChildProcess.Options = .init(), configuration: Configuration = .init()
    ) throws -> Connection {
        try blocking("launch", on: configuration.loop ?? eventLoop(configuration)) {
            try await launch(
                executable, arguments: arguments, environment: environment, in: directory, standardError: standardError,
                over: transport, options: options, configuration: configuration)
        }
    }

    /// Closes the connection as `close` does, and blocks the calling thread until it has ended.
    ///
    /// - Parameter timeout: How long this may take. After that the connection is cut.
    /// - Returns: The one-way messages that did not run.
    /// - Throws: `ConnectionError.wouldBlock` on an event loop's thread and in a task. The connection stays open then.
    @discardableResult
    public func blockingClose(timeout: Duration = .seconds(5)) throws -> OneWayLosses {
        try Self.blocking("close", on: loop) { await self.close(timeout: timeout) }
    }

    /// Checks that the calling thread may block: it runs no task and belongs to no event loop.
    ///
    /// - Parameter name: What blocks, for the error.
    static func checkMayBlock(_ name: String) throws {
        guard currentTask() == 0, !EventLoop.isOnThread else {
            throw ConnectionError(
                .wouldBlock,
                "a blocking function would stop a connection's loop or a task: use the async function here",
                context: name)
        }
    }

    /// Runs the body in a task on the loop, and blocks until it returns.
    static func blocking<Result: Sendable>(
        _ name: String, on loop: @autoclosure () throws -> any PortLoop,
        _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        try checkMayBlock(name)
        let loop = try loop()
        let outcome = AwaitedResult<Result>()
        Task.detached(executorPreference: loop) {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        guard let result = try outcome.get() else {
            throw ConnectionError(.closed, "the task ended without a result", context: name)
        }
        return result
    }

    /// Blocks the calling thread until a stream resumes it.
    ///
    /// The thread reads the connection meanwhile.
    ///
    /// - Parameters:
    ///   - failure: What to say at the deadline.
    ///   - hold: Enters the waiter under the lock; false if the thread need not wait.
    ///   - withdraw: Removes the waiter under the lock, because the thread stops waiting.
    func block(
        until deadline: Deadline?, _ failure: String,
        hold: (inout Conversation<Connection>, VoidWaiter) -> Bool,
        withdraw: (inout Conversation<Connection>, BlockingCall) -> Void
    ) throws {
        let call = BlockingCall()
        guard state.withLock({ hold(&$0, .thread(call)) }) else { return }
        do {
            try wait(for: call, until: deadline) { deadline in
                ConnectionError(
                    .deadlineExceeded, "\(failure) within \(deadline.limit)", context: "a stream over \(self.name)")
            }
            _ = try call.get()
        } catch {
            state.withLock { withdraw(&$0, call) }
            throw error
        }
    }
}

/// A result for which a thread waits.
private final class AwaitedResult<Value: Sendable>: Sendable {
    private let isSet = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        isSet.signal()
    }

    /// Waits for the result.
    ///
    /// Call it once.
    func get() throws -> Value? {
        isSet.wait()
        return try result.withLock { $0 }?.get()
    }
}

/// Runs a body with a connection, and closes the connection afterwards, even if the body throws or its task is cancelled.
///
/// ```swift
/// let count: Int = try await withConnection(.open(.path(path))) { connection in
///     try await connection.root.add(foo)
/// }
/// ```
///
/// - Parameters:
///   - connection: An open connection.
///   - closeTimeout: How long closing may take. After that the connection is cut.
///   - body: Uses the connection, and may also close it.
/// - Returns: What the body returns, once the connection has ended.
/// - Throws: What the body throws.
public func withConnection<Result>(
    _ connection: Connection, closeTimeout: Duration = .seconds(5),
    _ body: (Connection) async throws -> Result
) async throws -> Result {
    do {
        let result = try await body(connection)
        await connection.close(timeout: closeTimeout)
        return result
    } catch {
        await connection.close(timeout: closeTimeout)
        throw error
    }
}
