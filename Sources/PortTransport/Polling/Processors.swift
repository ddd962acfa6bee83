internal import CPortShims
internal import Synchronization

/// What the system lets this process run on, as far as it decides whether polling makes sense; one for the process.
///
/// Masks and quotas can change, so it is looked at again now and then, by a thread that holds no lock; but only where a
/// thread would poll, so that a program that calls now and then never pays for it.
enum Processors {
    /// How often the mask is looked at, and the quota, in nanoseconds.
    private static let maskInterval: UInt64 = 100_000_000
    private static let quotaInterval: UInt64 = 1_000_000_000
    /// A process that may use less than two processors gains nothing, in hundredths.
    static let leastQuota: Int64 = 200

    private static let isEnough = Atomic<Bool>(false)
    private static let isDue = Atomic<Bool>(false)
    private static let lookedAt = Atomic<UInt64>(0)
    private static let quotaLookedAt = Atomic<UInt64>(0)
    private static let quota = Atomic<Int64>(0)

    /// Whether a process with so many processors, and that quota in hundredths of one (0: none), may poll.
    static func suffice(count: Int, quota: Int64) -> Bool { count != 1 && (quota == 0 || quota >= leastQuota) }

    /// Whether a thread that polls leaves the others a processor.
    @inline(__always)
    static var sufficed: Bool { isEnough.load(ordering: .relaxed) }

    /// Asks for a look, unless the last one was a short time ago: a thread polls, or would.
    static func ask(at now: UInt64) {
        if now &- lookedAt.load(ordering: .relaxed) >= maskInterval { isDue.store(true, ordering: .relaxed) }
    }

    /// Looks if it is time for that; to be called without a lock, as it may read files.
    @inline(__always)
    static func lookIfDue() {
        if isDue.load(ordering: .relaxed) { look() }
    }

    @inline(never)
    private static func look() {
        let now = monotonicNow()
        isDue.store(false, ordering: .relaxed)
        lookedAt.store(now, ordering: .relaxed)
        let last = quotaLookedAt.load(ordering: .relaxed)
        if last == 0 || now &- last >= quotaInterval {
            quotaLookedAt.store(now, ordering: .relaxed)
            quota.store(port_processor_quota(), ordering: .relaxed)
        }
        let count = Int(port_processors_allowed())
        isEnough.store(suffice(count: count, quota: quota.load(ordering: .relaxed)), ordering: .relaxed)
    }
}

/// The right to poll, which one thread of a process has at a time, unless it always polls.
enum PollingTurn {
    /// A forked child has the number as it was, and may take over.
    private static let holder = Atomic<UInt64>(0)

    static func take() -> Bool {
        let own = UInt64(port_fork_count()) + 1
        let current = holder.load(ordering: .relaxed)
        if current == own { return false }
        return holder.compareExchange(expected: current, desired: own, ordering: .acquiring).exchanged
    }

    static func giveBack() { holder.store(0, ordering: .releasing) }
}
