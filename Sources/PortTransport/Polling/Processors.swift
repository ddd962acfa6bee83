internal import CPortShims
internal import Synchronization

/// Whether the system lets this process use enough processors for polling to make sense.
///
/// The processor mask and the quota of a process can change, so they are read again now and then, by a thread that
/// holds no lock. Only threads that would poll cause this, so a program that calls now and then never pays for it.
enum Processors {
    /// How often the mask and the quota are read, in nanoseconds.
    private static let maskInterval: UInt64 = 100_000_000
    private static let quotaInterval: UInt64 = 1_000_000_000
    /// The least quota with which a process polls, in hundredths of a processor: with less than two, polls gain
    /// nothing.
    static let leastQuota: Int64 = 200

    private static let isEnough = Atomic<Bool>(false)
    private static let isDue = Atomic<Bool>(false)
    private static let lookedAt = Atomic<UInt64>(0)
    private static let quotaLookedAt = Atomic<UInt64>(0)
    private static let quota = Atomic<Int64>(0)

    /// Whether a process may poll.
    ///
    /// - Parameters:
    ///   - count: The number of processors in its mask.
    ///   - quota: Its quota in hundredths of a processor; 0 if it has none.
    static func suffice(count: Int, quota: Int64) -> Bool { count != 1 && (quota == 0 || quota >= leastQuota) }

    /// Whether a thread that polls leaves a processor for other threads.
    @inline(__always)
    static var sufficed: Bool { isEnough.load(ordering: .relaxed) }

    /// Asks for a reading, unless the last one was a short time ago.
    static func ask(at now: UInt64) {
        if now &- lookedAt.load(ordering: .relaxed) >= maskInterval { isDue.store(true, ordering: .relaxed) }
    }

    /// Reads the mask and the quota if a reading was asked for.
    ///
    /// Call it without a lock: it may read files.
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

/// The permit to poll, which one thread of a process has at a time; threads in the mode `.always` do without it.
enum PollingPermit {
    /// The fork count of the process whose thread has the permit, plus 1; 0 while no thread has it.
    ///
    /// A forked child inherits the parent's number, which does not stop it.
    private static let holder = Atomic<UInt64>(0)

    static func take() -> Bool {
        let own = UInt64(port_fork_count()) + 1
        let current = holder.load(ordering: .relaxed)
        if current == own { return false }
        return holder.compareExchange(expected: current, desired: own, ordering: .acquiring).exchanged
    }

    static func giveBack() { holder.store(0, ordering: .releasing) }
}
