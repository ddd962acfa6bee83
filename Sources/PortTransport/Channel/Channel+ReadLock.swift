internal import CPortShims
internal import Synchronization

/// Work of the loop on a channel that is *owed*: it has to wait because another thread is reading the channel.
struct OwedWork: OptionSet {
    let rawValue: UInt8

    /// Read the endpoint itself.
    static let input = OwedWork(rawValue: 1)
    /// Read the memory shared with the peer.
    static let doorbell = OwedWork(rawValue: 2)
    static let drain = OwedWork(rawValue: 4)
    static let end = OwedWork(rawValue: 8)
}

/// The read lock, which is held during system calls.
///
/// A peer can have the kernel hold a thread in a system call, for instance by holding a pipe in a system call of its
/// own. So the loop never waits for this lock. The loop notes the work that it could not do, and the thread that
/// releases the lock hands that work back to the loop.
extension Channel {
    /// The number of the loop's attempts to take the lock: usually the lock is held only for a moment.
    private static let looks = 64

    /// Takes the read lock on the loop; nil if the lock is not free.
    ///
    /// In that case the loop does `work` once the lock is free.
    @inline(__always)
    func lockReading(or work: OwedWork) -> Held<ReadState>? {
        if let held = readLock.tryLock() { return held }
        return lockReadingAtLast(or: work)
    }

    @inline(never)
    private func lockReadingAtLast(or work: OwedWork) -> Held<ReadState>? {
        for _ in 0..<Self.looks {
            if let held = readLock.tryLock() { return held }
        }
        let gateHeld = gate.lock()
        gated.owed.formUnion(work)
        isOwed.store(true, ordering: .sequentiallyConsistent)
        // Otherwise the poller would report again and again input that cannot be read.
        if work.contains(.input), loopReadsEndpoint(gateHeld) { setReadInterest(false, gateHeld) }
        gate.unlock(gateHeld)
        // The lock may have been released before the noted work was visible.
        if let held = readLock.tryLock() { unlockReading(held) }
        return nil
    }

    /// Releases the read lock.
    @inline(__always)
    func unlockReading(_ held: consuming Held<ReadState>) {
        readLock.unlock(held)
        if isOwed.load(ordering: .sequentiallyConsistent) { giveBackWork() }
    }

    /// Runs `body` with the read lock held; `body` must be short.
    @inline(__always)
    func withReadLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        defer { if isOwed.load(ordering: .sequentiallyConsistent) { giveBackWork() } }
        return try readLock.withLock(body)
    }

    /// Whether frames come from the endpoint itself, and the loop reads them.
    private func loopReadsEndpoint(_ held: borrowing Held<GateState>) -> Bool {
        gated.input == .endpoint && gated.blockingReader.reader == .loop && !gated.life.hasEnd
    }

    @inline(never)
    private func giveBackWork() {
        let held = gate.lock()
        let work = gated.owed
        gated.owed = []
        isOwed.store(false, ordering: .sequentiallyConsistent)
        if let eventLoop, !gated.life.isOver {
            if work.contains(.input), loopReadsEndpoint(held) { setReadInterest(true, held) }
            // With shared memory the poller reports the endpoint only when bytes or the end come, and does so once.
            if work.contains(.input), gated.input.isShared {
                eventLoop.rearm(gated.inputSource, link.inputDescriptor, gated.inputInterest)
            }
            if work.contains(.doorbell) { rearmDoorbell(eventLoop, held) }
        }
        gate.unlock(held)
        if work.contains(.drain) { loop.schedule(.drain, on: self) }
        if work.contains(.end) { loop.schedule(.end, on: self) }
    }
}
