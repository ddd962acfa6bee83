import Synchronization

/// Blobs that this process no longer uses: its own, which nothing refers to any more, and mentions of blobs of the
/// peer.
///
/// The last reference to a blob may be released anywhere, even under the connection's lock. So that is noted here,
/// under separate locks, and settled later.
final class BlobReturns: Sendable {
    private let mentions = Mutex<[UInt64: UInt64]>([:])
    private let handles = Mutex<[UInt64: Int]>([:])
    private let hasMentions = Atomic<Bool>(false)
    private let hasHandles = Atomic<Bool>(false)
    /// Has the loop settle the notes.
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// Notes that nothing refers any more to a mention of the peer's region with that number.
    func mentionDied(of number: UInt64) {
        mentions.withLock { $0[number, default: 0] += 1 }
        if !hasMentions.exchange(true, ordering: .acquiringAndReleasing) { wake() }
    }

    /// Notes that nothing refers any more to a blob in this side's region with that number.
    func handleDied(of number: UInt64) {
        handles.withLock { $0[number, default: 0] += 1 }
        if !hasHandles.exchange(true, ordering: .acquiringAndReleasing) { wake() }
    }

    /// Whether there are mentions to give back.
    @inline(__always)
    var owesMentions: Bool { hasMentions.load(ordering: .acquiring) }

    /// Whether there are blobs of this side to settle.
    @inline(__always)
    var owesHandles: Bool { hasHandles.load(ordering: .acquiring) }

    /// Removes and returns the mentions to give back, by the number of the region.
    func takeMentions() -> [UInt64: UInt64] {
        hasMentions.store(false, ordering: .releasing)
        return mentions.withLock { taken in
            defer { taken = [:] }
            return taken
        }
    }

    /// Removes and returns the numbers of blobs to settle, by the number of the region.
    func takeHandles() -> [UInt64: Int] {
        guard hasHandles.exchange(false, ordering: .acquiringAndReleasing) else { return [:] }
        return handles.withLock { taken in
            defer { taken = [:] }
            return taken
        }
    }
}
