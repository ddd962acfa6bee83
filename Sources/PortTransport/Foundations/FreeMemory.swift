internal import CPortShims
internal import Synchronization

/// Memory that the process has freed and the allocator keeps.
package enum FreeMemory {
    /// When the allocator was asked last, by the monotonic clock.
    private static let askedAt = Atomic<UInt64>(0)
    private static let pause: UInt64 = 500_000_000

    /// Asks the allocator to give free memory back to the system, at most twice a second.
    ///
    /// After a burst of large messages it keeps tens of megabytes. Takes some milliseconds where the heap is large.
    /// Does nothing where the allocator does this by itself, as on Darwin.
    /// - Returns: Whether it was asked; if not, it is too early.
    package static func release() -> Bool {
        let now = monotonicNow()
        let last = askedAt.load(ordering: .relaxed)
        guard last == 0 || now > last &+ pause,
            askedAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return false }
        port_release_free_memory()
        return true
    }
}
