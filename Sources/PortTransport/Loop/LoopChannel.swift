internal import Synchronization

/// The part of a channel that a loop uses to read, to flush and to run its scheduled work.
///
/// It is a class and not a protocol, so that the loop can keep unmanaged references to it, and the flag below lies in
/// the object.
package class LoopChannel: PollHandler, @unchecked Sendable {
    // The only state here is an atomic; a subclass names its own locks.

    /// The loop will flush this channel at the end of the iteration.
    ///
    /// Set under the loop's lock by the leader, cleared just before the flush by the thread that flushes. A thread that
    /// reads it as set after it has enqueued a frame may rely on that flush: had the flush begun before, the lock of
    /// the queue would have made the cleared value visible.
    let isDirty = Atomic<Bool>(false)

    init() {}

    /// Whether reading it without input is harmless and only costs time.
    var isSocket: Bool { false }

    /// The shared memory of the input, so that a thread can look for input without a lock; the caller calls `letGo` on
    /// it.
    ///
    /// Call it while the loop has the channel registered.
    func memoryToPoll() -> RingPeek? { nil }

    /// Whether the peer says that it ran last on the processor of the calling thread.
    ///
    /// Call it while the loop has the channel registered.
    var peerIsHere: Bool { false }

    /// Whether the loop leaves out its next poll for this channel; counts it.
    func skipsPoll() -> Bool { false }

    func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? { nil }

    /// Does a piece of work that was scheduled on the loop.
    func perform(_ work: ChannelWork) {}

    /// Writes what can be written now; the loop writes the rest when the peer has read.
    package func flush() {}

    /// The process has ended.
    ///
    /// Called on the loop for all its channels, whether or not it is their peer.
    func processEnded(_ process: PeerProcess) {}

    /// For the watchdog: whether the input is still reserved for a blocking reader.
    ///
    /// If not, the loop reads it again.
    func keepsReservation() -> Bool { false }
}
