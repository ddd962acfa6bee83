import PortTransport
import Synchronization

/// Messages that wait for the object that they go to.
final class PlaceQueue: Sendable {
    private typealias Outcome = FirstOutcome<Result<MessagePlace, any Error>>

    private struct Waiters {
        var number: UInt64 = 0
        var outcomes: [UInt64: Outcome] = [:]
    }

    /// More messages than this do not wait: each keeps its arguments.
    private static let most = 4_096

    private let waiters = Mutex(Waiters())
    private let name: String
    private let loop: any PortLoop

    /// - Parameters:
    ///   - name: What they wait for, in errors.
    ///   - loop: Its clock measures the time they may wait.
    init(_ name: String, on loop: any PortLoop) {
        self.name = name
        self.loop = loop
    }

    var isEmpty: Bool { waiters.withLock { $0.outcomes.isEmpty } }

    /// Resumes all that wait.
    func resume(with outcome: Result<MessagePlace, any Error>) {
        let outcomes = waiters.withLock { waiters in
            defer { waiters.outcomes = [:] }
            return waiters.outcomes
        }
        for (_, waiting) in outcomes.sorted(by: { $0.key < $1.key }) { waiting.set(outcome) }
    }

    /// Waits until `resume` is called.
    ///
    /// - Parameters:
    ///   - limit: How long to wait; nil for no limit.
    ///   - check: Called once the message waits; resumes it if there is an object already.
    /// - Returns: The object's place.
    /// - Throws: What `resume` gives; `ConnectionError.deadlineExceeded`, `.overloaded`, `CancellationError`. The message was not
    ///   sent then.
    func wait(within limit: Duration?, _ check: () -> Void) async throws -> MessagePlace {
        let outcome = Outcome()
        let end = try enter(outcome, within: limit)
        defer { end() }
        check()
        return try await withTaskCancellationHandler {
            try await outcome.value.get()
        } onCancel: {
            outcome.set(.failure(CancellationError()))
        }
    }

    /// As `wait`, on a plain thread.
    func waitBlocking(within limit: Duration?, _ check: @escaping @Sendable () -> Void) throws -> MessagePlace {
        try Connection.blocking(name, on: loop) { try await self.wait(within: limit, check) }
    }

    /// Has an outcome set by `resume`, or after the limit.
    ///
    /// - Returns: A function that lets the outcome go.
    private func enter(_ outcome: Outcome, within limit: Duration?) throws -> () -> Void {
        let number = waiters.withLock { waiters -> UInt64? in
            guard waiters.outcomes.count < Self.most else { return nil }
            waiters.number += 1
            waiters.outcomes[waiters.number] = outcome
            return waiters.number
        }
        guard let number else {
            throw ConnectionError(.overloaded, "\(Self.most) messages already wait for it", context: name)
        }
        let timer = limit.map { [name] limit in
            loop.addTimer(after: limit) {
                outcome.set(
                    .failure(
                        ConnectionError(
                            .deadlineExceeded, "it was not ready within the time-out; the message was not sent",
                            context: name, mayHaveRun: false)))
            }
        }
        return { [self] in
            if let timer { loop.cancelTimer(timer) }
            _ = waiters.withLock { $0.outcomes.removeValue(forKey: number) }
        }
    }
}
