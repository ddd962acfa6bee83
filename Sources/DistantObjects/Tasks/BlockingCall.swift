import Synchronization

/// A plain thread that waits for an answer.
final class BlockingCall: @unchecked Sendable {
    // The thread that moves `phase` from waiting writes `outcome`; it is read once `phase` says done.
    private enum Phase {
        static let waiting: UInt8 = 0
        static let completing: UInt8 = 1
        static let done: UInt8 = 2
    }

    /// Identifies the thread that waits; only compared.
    private let thread = ThreadState.current
    private let phase = Atomic<UInt8>(Phase.waiting)
    @exclusivity(unchecked) private var outcome: Result<Reply?, any Error>?

    /// Whether the calling thread is the one that waits: it needs no signal.
    var isOwn: Bool { thread != nil && thread == ThreadState.current }

    var isDone: Bool { phase.load(ordering: .acquiring) == Phase.done }

    /// - Returns: False if it was completed before; nobody takes the result then.
    func complete(_ result: Result<Reply?, any Error>) -> Bool {
        let (isFirst, _) = phase.compareExchange(
            expected: Phase.waiting, desired: Phase.completing, ordering: .acquiringAndReleasing)
        guard isFirst else { return false }
        outcome = result
        phase.store(Phase.done, ordering: .releasing)
        return true
    }

    /// The answer, to be taken once; `nil` for a one-way message that was written, or if there is none yet.
    func get() throws -> Reply? {
        guard isDone else { return nil }
        return try outcome.take()?.get()
    }
}
