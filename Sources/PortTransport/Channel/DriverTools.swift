internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Ends a wait in the kernel.
struct DriverAlarm: Sendable {
    fileprivate let reading: CInt
    fileprivate let writing: CInt

    var descriptor: CInt { reading }

    fileprivate init() throws(TransportError) {
        var ends: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) {
            port_signal_open($0.baseAddress?.assumingMemoryBound(to: CInt.self))
        }
        if result < 0 { throw .system("opening an eventfd", errno) }
        (reading, writing) = ends
    }

    func set() { withEnds { port_signal_set($0) } }

    fileprivate func clear() { withEnds { port_signal_clear($0) } }

    fileprivate func close() {
        port_close(reading)
        if writing != reading { port_close(writing) }
    }

    private func withEnds(_ body: (UnsafePointer<CInt>?) -> Void) {
        withUnsafeTemporaryAllocation(of: CInt.self, capacity: 2) { ends in
            ends[0] = reading
            ends[1] = writing
            body(UnsafePointer(ends.baseAddress))
        }
    }
}

/// What a driving thread needs, from a pool, so that blocking calls neither open descriptors nor allocate.
final class DriverTools: @unchecked Sendable {  // One thread has it at a time.
    let alarm: DriverAlarm
    let context: UnsafeMutablePointer<ReadContext>
    /// Somebody may have set the alarm since it was last silent.
    @exclusivity(unchecked) var alarmWasSet = false

    private init() throws(TransportError) {
        alarm = try DriverAlarm()
        context = .allocate(capacity: 1)
        context.initialize(to: ReadContext())
    }

    deinit {
        context.deinitialize(count: 1)
        context.deallocate()
        alarm.close()
    }

    static func take() throws(TransportError) -> DriverTools {
        if pool.isUsable, let free = pool.lock.withLock({ pool.free.popLast() }) { return free }
        return try DriverTools()
    }

    /// Makes the alarm silent, which nobody may set any more.
    func silence() {
        guard alarmWasSet else { return }
        alarmWasSet = false
        alarm.clear()
    }

    /// Back to the pool, with a silent alarm.
    func giveBack() {
        guard Self.pool.isUsable else { return }
        Self.pool.lock.withLock {
            // What is not kept is freed by the caller's reference.
            if Self.pool.free.count < Pool.bound { Self.pool.free.append(self) }
        }
    }

    private final class Pool: @unchecked Sendable {  // `lock` protects `free`.
        static let bound = 16

        let lock = Lock()
        @exclusivity(unchecked) var free: [DriverTools] = []

        /// A forked child has the lock as it was, and shares the descriptors with its parent.
        var isUsable: Bool { forkCount == port_fork_count() }

        private let forkCount = port_fork_count()

        init() { free.reserveCapacity(Self.bound) }
    }

    private static let pool = Pool()
}
