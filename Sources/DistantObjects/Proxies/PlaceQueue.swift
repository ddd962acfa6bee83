import Dispatch
import PortTransport
import Synchronization

/// Messages that wait for the object that they go to.
final class PlaceQueue: Sendable {
    private struct Waiters {
        var number: UInt64 = 0
        var resumes: [UInt64: @Sendable (Result<MessagePlace, any Error>) -> Void] = [:]
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

    var isEmpty: Bool { waiters.withLock { $0.resumes.isEmpty } }

    /// Resumes all that wait.
    func resume(with outcome: Result<MessagePlace, any Error>) {
        let resumes = waiters.withLock { waiters in
            defer { waiters.resumes = [:] }
            return waiters.resumes
        }
        for (_, resume) in resumes.sorted(by: { $0.key < $1.key }) { resume(outcome) }
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
        let outcome = PlaceOutcome()
        let end = try enter(outcome, within: limit)
        defer { end() }
        check()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { outcome.await($0) }
        } onCancel: {
            outcome.set(.failure(CancellationError()))
        }
    }

    /// As `wait`, on a plain thread.
    func waitBlocking(within limit: Duration?, _ check: () -> Void) throws -> MessagePlace {
        try Connection.checkMayBlock(name)
        let outcome = PlaceOutcome()
        let end = try enter(outcome, within: limit)
        defer { end() }
        check()
        return try outcome.block()
    }

    /// Has an outcome set by `resume`, or after the limit.
    ///
    /// - Returns: A function that lets the outcome go.
    private func enter(_ outcome: PlaceOutcome, within limit: Duration?) throws -> () -> Void {
        let number = waiters.withLock { waiters -> UInt64? in
            guard waiters.resumes.count < Self.most else { return nil }
            waiters.number += 1
            waiters.resumes[waiters.number] = { outcome.set($0) }
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
            _ = waiters.withLock { $0.resumes.removeValue(forKey: number) }
        }
    }
}

/// What one message has waited for; the first outcome counts.
private final class PlaceOutcome: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<MessagePlace, any Error>)
        case known(Result<MessagePlace, any Error>)
    }

    private let state = Mutex(State.open)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ outcome: Result<MessagePlace, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<MessagePlace, any Error>? in
            switch state {
            case .known: return nil
            case .open:
                state = .known(outcome)
                isSet.signal()
                return nil
            case .awaited(let continuation):
                state = .known(outcome)
                return continuation
            }
        }
        continuation?.resume(with: outcome)
    }

    func `await`(_ continuation: CheckedContinuation<MessagePlace, any Error>) {
        let known = state.withLock { state -> Result<MessagePlace, any Error>? in
            if case .known(let outcome) = state { return outcome }
            state = .awaited(continuation)
            return nil
        }
        if let known { continuation.resume(with: known) }
    }

    /// Blocks until the outcome is set.
    func block() throws -> MessagePlace {
        isSet.wait()
        guard case .known(let outcome) = state.withLock({ $0 }) else {
            fatalError("a semaphore was signalled too early")
        }
        return try outcome.get()
    }
}
