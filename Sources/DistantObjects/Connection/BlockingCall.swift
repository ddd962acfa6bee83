import Synchronization

/// A plain thread that waits for an answer.
final class BlockingCall: Sendable {
    private let outcome = Mutex<Result<Reply?, any Error>?>(nil)

    var isDone: Bool { outcome.withLock { $0 != nil } }

    func complete(_ result: Result<Reply?, any Error>) {
        outcome.withLock { outcome in
            if outcome == nil { outcome = result }
        }
    }

    /// The answer; `nil` for a one-way message that was committed, or if there is none yet.
    func get() throws -> Reply? {
        try outcome.withLock { $0 }?.get()
    }
}
