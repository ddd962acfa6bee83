import PortTransport

/// Several helpers of one program that share the work.
///
/// ```swift
/// let pool = HelperPool(ParserInterface.self, "parser", count: 4)
/// let trees = try await pool.map(paths) { parser, path in try await parser.parse(path) }
/// await pool.stop()
/// ```
///
/// Each message goes to the helper with the fewest messages under way. If its helper ends before the message was sent, the message goes
/// to another one; see ``Helper`` for those that may have run.
public final class HelperPool<I: Interface>: Sendable {
    /// The root of one of the helpers, chosen for each message.
    ///
    /// Calls that belong together go through an object that one of them returns, or through ``Helper/running(timeout:)`` of one of the
    /// `helpers`.
    public let remote: Remote<I>
    /// The helpers.
    public let helpers: [Helper<I>]

    /// Helpers that run a program, started by the first message.
    ///
    /// Errors and connections name them by the program and a number, such as "parser 2".
    ///
    /// - Parameters:
    ///   - interface: What the program's root implements.
    ///   - program: As for ``Helper``.
    ///   - count: The number of helpers, at least 1.
    ///   - policy: When each is started again.
    ///   - options: What each gets.
    public convenience init(
        _ interface: I.Type, _ program: String, count: Int, restart policy: RestartPolicy = .onFailure,
        options: HelperOptions = .init()
    ) {
        let numbers = count > 1 ? (1...count).map(Optional.some) : [nil]
        self.init(numbers.map { Helper(interface, program, number: $0, restart: policy, options: options) })
    }

    /// Helpers, of any kind, that share the work: for a test with peers in this process, or with different options.
    ///
    /// - Parameter helpers: They are stopped by `stop`. Without any, each message throws `ConnectionError.closed`.
    public init(_ helpers: [Helper<I>]) {
        self.helpers = helpers
        let first = helpers.first?.supervisor
        let source = PoolSource(
            helpers.map(\.supervisor), name: first?.name ?? "pool", on: first?.loop ?? EventLoop.shared)
        remote = Remote(DistantObject(following: source), InterfaceShape.of(I.self))
    }

    /// Does jobs, several at a time, and returns their results in the order of the jobs.
    ///
    /// If one throws, or the task is cancelled, the others are cancelled.
    ///
    /// - Parameters:
    ///   - jobs: One after the other, when there is room for the next: it may be a sequence that makes them.
    ///   - atOnce: The most jobs at a time; nil for two for each helper, so that none waits for its next one.
    ///   - body: Does one job.
    /// - Returns: The results.
    /// - Throws: What `body` throws first.
    /// - Complexity: Linear in the number of jobs.
    public func map<Jobs: Sequence, Result: Sendable>(
        _ jobs: Jobs, atOnce: Int? = nil,
        _ body: @escaping @Sendable (_ helper: Remote<I>, _ job: Jobs.Element) async throws -> Result
    ) async throws -> [Result] where Jobs.Element: Sendable {
        let most = max(atOnce ?? 2 * helpers.count, 1)
        var results: [Result?] = []
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var running = 0
            for job in jobs {
                if running == most, let (number, result) = try await group.next() {
                    results[number] = result
                    running -= 1
                }
                let number = results.count
                results.append(nil)
                running += 1
                group.addTask { [remote] in (number, try await body(remote, job)) }
            }
            for try await (number, result) in group { results[number] = result }
        }
        return results.compactMap(\.self)
    }

    /// Stops all helpers for good, as ``Helper/stop(timeout:)``.
    ///
    /// - Parameter timeout: How long calls under way may take.
    /// - Complexity: Linear in the number of helpers, which end at the same time.
    public func stop(timeout: Duration = .seconds(5)) async {
        await withDiscardingTaskGroup { group in
            for helper in helpers { group.addTask { await helper.stop(timeout: timeout) } }
        }
    }
}
