import Synchronization

/// A plain thread that waits for an answer.
final class BlockingCall: @unchecked Sendable {
    // `outcome` is written once by whoever moves `phase` from waiting, and read once `phase` says done.
    private enum Phase {
        static let waiting: UInt8 = 0
        static let completing: UInt8 = 1
        static let done: UInt8 = 2
    }

    /// The state of the thread that waits, to be compared and never followed.
    private let thread = ThreadState.current
    private let phase = Atomic<UInt8>(Phase.waiting)
    @exclusivity(unchecked) private var outcome: Result<Reply?, any Error>?

    /// Whether the calling thread is the one that waits, and so need not be told.
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

    /// The answer, to be taken once; `nil` for a one-way message that was committed, or if there is none yet.
    func get() throws -> Reply? {
        guard isDone else { return nil }
        return try outcome.take()?.get()
    }
}
