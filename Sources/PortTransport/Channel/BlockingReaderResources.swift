internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The resources of a blocking reader: memory to read into, and a poller of its own, which waits faster than `poll`
/// does and can be woken.
///
/// They come from a pool, so that blocking calls neither open descriptors nor allocate memory. Shared memory needs no
/// poller, so reading it needs no descriptor.
final class BlockingReaderResources: @unchecked Sendable {  // One thread has it at a time; any may wake it.
    let context: UnsafeMutablePointer<ReadContext>
    /// Opened when a descriptor is first watched.
    private let poller: UnsafeMutablePointer<port_poller>
    private var isPollerOpen = false
    /// The part of the channel's state that the thread with these resources may use without the gate.
    @exclusivity(unchecked) var session = BlockingReader.Session(mayReserve: false, policy: nil)
    /// The descriptor whose input the poller waits for; -1 if there is none.
    @exclusivity(unchecked) private var watched: CInt = -1

    private init() {
        poller = .allocate(capacity: 1)
        poller.initialize(to: port_poller())
        context = .allocate(capacity: 1)
        context.initialize(to: ReadContext())
    }

    deinit {
        context.deinitialize(count: 1)
        context.deallocate()
        // In a forked child these are copies: closing them changes nothing in the parent's poller.
        if isPollerOpen { port_poller_close(poller) }
        poller.deallocate()
    }

    /// Has the poller wait for input of a descriptor; false if the system cannot, or has no descriptor left for a poller.
    func watch(_ descriptor: CInt) -> Bool {
        guard watched != descriptor else { return true }
        if !isPollerOpen {
            guard port_poller_open(poller) >= 0 else { return false }
            isPollerOpen = true
        }
        guard port_poller_add(poller, descriptor, 1, UInt32(PORT_READABLE)) >= 0 else { return false }
        watched = descriptor
        return true
    }

    /// Waits for input of the descriptor that is watched, or for `wake`; a negative time has no limit.
    ///
    /// - Returns: The number of descriptors with input; below 0 if waiting failed.
    func wait(_ nanoseconds: Int64) -> CInt {
        var event = port_event()
        return port_poller_wait(poller, &event, 1, nanoseconds)
    }

    /// Ends the current wait, or else the next one.
    func wake() { port_poller_wake(poller) }

    /// Resources from the pool, or new ones.
    static func take() -> BlockingReaderResources {
        if pool.isUsable, let free = pool.lock.withLock({ pool.free.popLast() }) { return free }
        return BlockingReaderResources()
    }

    /// Gives the resources back to the pool.
    ///
    /// Call it before the descriptor that is watched is closed.
    func giveBack() {
        session = BlockingReader.Session(mayReserve: false, policy: nil)
        guard Self.pool.isUsable else { return }
        if watched >= 0 {
            // A poller that still watches the descriptor would report it again and again, so it is not reused.
            guard port_poller_remove(poller, watched, UInt32(PORT_READABLE)) >= 0 else { return }
            watched = -1
        }
        Self.pool.lock.withLock {
            // Resources that the pool does not keep are freed with the caller's reference.
            if Self.pool.free.count < Pool.bound { Self.pool.free.append(self) }
        }
    }

    /// How many descriptors the pool keeps open, for tests that count descriptors of the process.
    static var descriptorsInPool: Int {
        #if canImport(Glibc)
            let each = 2
        #else
            let each = 1
        #endif
        return pool.lock.withLock { pool.free.count { $0.isPollerOpen } } * each
    }

    private final class Pool: @unchecked Sendable {  // `lock` protects `free`.
        static let bound = 16

        let lock = Lock()
        @exclusivity(unchecked) var free: [BlockingReaderResources] = []

        /// A forked child inherits the lock in the state it had, and shares the descriptors with its parent.
        var isUsable: Bool { forkCount == port_fork_count() }

        private let forkCount = port_fork_count()

        init() { free.reserveCapacity(Self.bound) }
    }

    private static let pool = Pool()
}
