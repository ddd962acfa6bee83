internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The resources of a blocking reader: memory to read into, and a poller of its own, which waits faster than `poll`
/// does and can be woken.
///
/// The resources come from a pool, so that blocking calls neither open descriptors nor allocate memory. Shared memory
/// needs no poller. For other input the thread waits with `poll` while the system has no descriptor left for a poller.
final class BlockingReaderResources: @unchecked Sendable {  // One thread has it at a time; any may wake it.
    /// The longest wait without a poller, in nanoseconds: nothing can end that wait.
    private static let longestWait: Int64 = 50_000_000

    let context: UnsafeMutablePointer<ReadContext>
    /// The poller, which watches the descriptor of `watched`; nil while no poller is open.
    @exclusivity(unchecked) private var poller: UnsafeMutablePointer<port_poller>?
    /// The state that the thread with these resources may use without the gate.
    @exclusivity(unchecked) var session = BlockingReader.Session(mayReserve: false, policy: nil)
    /// The descriptor whose input the thread waits for; -1 if there is none.
    @exclusivity(unchecked) private var watched: CInt = -1

    private init() {
        context = .allocate(capacity: 1)
        context.initialize(to: ReadContext())
    }

    deinit {
        context.deinitialize(count: 1)
        context.deallocate()
        closePoller()
    }

    /// Has `wait` wait for input of a descriptor.
    func watch(_ descriptor: CInt) {
        guard watched != descriptor || poller == nil else { return }
        watched = descriptor
        guard let poller = poller ?? openPoller() else { return }
        if port_poller_add(poller, descriptor, 1, UInt32(PORT_READABLE)) < 0 { closePoller() }
    }

    private func openPoller() -> UnsafeMutablePointer<port_poller>? {
        let opened = UnsafeMutablePointer<port_poller>.allocate(capacity: 1)
        opened.initialize(to: port_poller())
        guard port_poller_open(opened) >= 0 else {
            opened.deallocate()
            return nil
        }
        poller = opened
        return opened
    }

    private func closePoller() {
        guard let open = poller.take() else { return }
        // In a forked child the poller's descriptors are copies: closing them changes nothing in the parent's poller.
        port_poller_close(open)
        open.deallocate()
    }

    /// Waits for input of the descriptor that is watched, or for `wake`; a negative time has no limit.
    ///
    /// The wait may end early for no reason.
    /// - Returns: More than 0 if there is input; below 0 if waiting failed.
    func wait(_ nanoseconds: Int64) -> CInt {
        guard let poller else {
            let time = nanoseconds < 0 ? Self.longestWait : min(nanoseconds, Self.longestWait)
            return port_wait_one(watched, UInt32(PORT_READABLE), time)
        }
        var event = port_event()
        return port_poller_wait(poller, &event, 1, nanoseconds)
    }

    /// Ends the current wait, or else the next one.
    ///
    /// Without a poller this has no effect, and the wait ends soon by itself.
    func wake() {
        if let poller { port_poller_wake(poller) }
    }

    /// Resources from the pool, or new ones.
    static func take() -> BlockingReaderResources {
        if pool.isUsable, let free = pool.lock.withLock({ pool.free.popLast() }) { return free }
        return BlockingReaderResources()
    }

    /// Gives the resources back to the pool.
    ///
    /// Call this function before the watched descriptor is closed.
    func giveBack() {
        session = BlockingReader.Session(mayReserve: false, policy: nil)
        guard Self.pool.isUsable else { return }
        if watched >= 0, let poller {
            // A poller that still watches the descriptor would report the descriptor again and again, so resources with
            // such a poller are not reused.
            guard port_poller_remove(poller, watched, UInt32(PORT_READABLE)) >= 0 else { return }
        }
        watched = -1
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
        return pool.lock.withLock { pool.free.count { $0.poller != nil } } * each
    }

    private final class Pool: @unchecked Sendable {  // `lock` protects `free`.
        static let bound = 16

        let lock = Lock()
        @exclusivity(unchecked) var free: [BlockingReaderResources] = []

        /// Whether this process may use the pool: a forked child inherits the lock in the state that it had, and shares
        /// the descriptors with its parent.
        var isUsable: Bool { forkCount == port_fork_count() }

        private let forkCount = port_fork_count()

        init() { free.reserveCapacity(Self.bound) }
    }

    private static let pool = Pool()
}
