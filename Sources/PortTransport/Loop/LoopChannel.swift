internal import Synchronization

/// The part of a channel that a loop knows: what it reads, flushes and does pieces of work for.
///
/// A class and not a protocol, so that the loop keeps unmanaged references to it, and the flag below lies in the
/// object.
package class LoopChannel: PollHandler, @unchecked Sendable {
    // It has no state but an atomic; a subclass names the locks of its own.

    /// The loop will flush this channel at the end of the iteration.
    ///
    /// Set under the loop's lock by the leader, cleared just before the flush by the thread that flushes. A thread that
    /// reads it as set after it has enqueued a frame may rely on that flush: had the flush begun before, the lock of
    /// the queue would have made the cleared value visible.
    let isDirty = Atomic<Bool>(false)

    init() {}

    /// Whether it may be read where there is no input: that costs nothing but time.
    var isSocket: Bool { false }

    /// The memory that it reads, so that a look at it costs no lock; to be let go.
    ///
    /// To be called while the loop knows the channel.
    func memoryToPoll() -> RingPeek? { nil }

    /// Whether its peer ran last on the processor of the calling thread, as far as it says so.
    ///
    /// To be called while the loop knows the channel.
    var peerIsHere: Bool { false }

    func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? { nil }

    /// Does a piece of work that was scheduled on the loop.
    func perform(_ work: ChannelWork) {}

    /// Writes what can be written now; the loop writes the rest when the peer has read.
    package func flush() {}

    /// For the watchdog: whether the input is still reserved for a blocking reader.
    ///
    /// If not, the loop reads it again.
    func keepsReservation() -> Bool { false }
}
