package import PortTransport
internal import Synchronization

/// A loop that runs only when a test says so, on the test's thread, with a clock that only the test turns.
///
/// ```swift
/// let loop = TestLoop(seed: 7)
/// let pair = try ConnectionPair(on: loop)
/// let call = loop.task { try await pair.first.root.add(person, timeout: .seconds(60)) as Int }
/// loop.advance(by: .seconds(61))
/// ```
///
/// Connections on it read, write, serve calls and let their time-outs pass only while the loop runs. Which of several pieces of
/// work comes next is drawn from the seed, so a test that uses nothing but the loop does the same each time.
///
/// Methods on other executors, such as the main actor, and `Task.sleep` do not use the loop or its clock.
public final class TestLoop: Sendable {
    package let manual: ManualLoop

    /// Makes a loop whose clock stands at zero.
    ///
    /// - Parameter seed: Decides which piece of work comes next; `nil` for the one that waits longest.
    public init(seed: UInt64? = nil) { manual = ManualLoop(seed: seed) }

    /// The time on the loop's clock.
    public var now: Duration { .nanoseconds(Int64(clamping: manual.now)) }

    /// Runs one piece of work.
    ///
    /// - Returns: False if there is none.
    @discardableResult
    public func runOne() -> Bool { manual.runOne() }

    /// Runs until there is no work.
    ///
    /// Time-outs that lie ahead stay.
    public func runUntilIdle() { manual.runUntilIdle() }

    /// Turns the clock forward, and runs what is due at each instant.
    public func advance(by duration: Duration) { manual.advance(by: duration) }

    /// Starts a task that runs on the loop.
    ///
    /// - Parameter body: Runs as far as it can each time the loop runs.
    @discardableResult
    public func task<Result: Sendable>(
        _ body: @escaping @concurrent @Sendable () async throws -> Result
    ) -> Task<Result, any Error> {
        Task(executorPreference: manual) { try await body() }
    }

    /// Runs a task on the loop to its end.
    ///
    /// - Parameter body: Must not wait for anything but the loop, and for none of its time-outs.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``TestLoopStalled`` if it still waits when the loop has no more work.
    public func run<Result: Sendable>(
        _ body: @escaping @concurrent @Sendable () async throws -> Result
    ) throws -> Result {
        let outcome = Outcome<Result>()
        task {
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.value.withLock { $0 = result }
        }
        runUntilIdle()
        guard let result = outcome.value.withLock({ $0 }) else { throw TestLoopStalled() }
        return try result.get()
    }
}

/// The error of ``TestLoop/run(_:)`` if the loop has no more work and the body still waits.
public struct TestLoopStalled: Error, CustomStringConvertible {
    /// What has happened.
    public var description: String { "the loop has no more work, and the body still waits for something else" }
}

private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
}
