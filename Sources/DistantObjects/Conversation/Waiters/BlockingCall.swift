import Synchronization

/// A blocked thread that waits for an answer.
final class BlockingCall: @unchecked Sendable {
    // The thread that changes `phase` from waiting writes `outcome`. `outcome` is read only once `phase` is done.
    private enum Phase {
        static let waiting: UInt8 = 0
        static let completing: UInt8 = 1
        static let done: UInt8 = 2
    }

    /// Identifies the waiting thread; the value is only compared.
    private let thread = ThreadState.current
    private let phase = Atomic<UInt8>(Phase.waiting)
    @exclusivity(unchecked) private var outcome: Result<Reply?, any Error>?

    /// Whether the calling thread is the waiting one, which needs no signal.
    var isOwn: Bool { thread != nil && thread == ThreadState.current }

    var isDone: Bool { phase.load(ordering: .acquiring) == Phase.done }

    /// Sets the outcome.
    ///
    /// - Returns: False if an outcome was set before. The new outcome is dropped then.
    func complete(_ result: Result<Reply?, any Error>) -> Bool {
        let (isFirst, _) = phase.compareExchange(
            expected: Phase.waiting, desired: Phase.completing, ordering: .acquiringAndReleasing)
        guard isFirst else { return false }
        outcome = result
        phase.store(Phase.done, ordering: .releasing)
        return true
    }

    /// Takes the answer, once; `nil` for a one-way message that was written, or if there is no outcome yet.
    func get() throws -> Reply? {
        guard isDone else { return nil }
        return try outcome.take()?.get()
    }
}
