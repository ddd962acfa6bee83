internal import CPortShims
internal import Synchronization

/// What the loop wanted to do with a channel while another thread was reading it.
struct OwedWork: OptionSet {
    let rawValue: UInt8

    /// Read the endpoint itself.
    static let input = OwedWork(rawValue: 1)
    /// Read the memory shared with the peer.
    static let bell = OwedWork(rawValue: 2)
    static let drain = OwedWork(rawValue: 4)
    static let end = OwedWork(rawValue: 8)
}

/// The read lock, which is held during system calls.
///
/// A peer can have the kernel hold a thread in one, for instance by holding a pipe in a system call of its own. So the loop
/// never waits for the lock: it notes what it wanted to do, and the thread that has the lock gives that back to the loop
/// together with the lock.
extension Channel {
    /// Looks before the loop gives up: as a rule the lock is held for a moment.
    private static let looks = 64

    /// Takes the read lock on the loop.
    ///
    /// False: it was not free, and the loop is told again to do `work` when it is.
    @inline(__always)
    func lockReading(or work: OwedWork) -> Bool { readLock.tryLock() || lockReadingAtLast(or: work) }

    @inline(never)
    private func lockReadingAtLast(or work: OwedWork) -> Bool {
        for _ in 0..<Self.looks where readLock.tryLock() { return true }
        gate.lock()
        gated.pointee.owed.formUnion(work)
        isOwed.store(true, ordering: .sequentiallyConsistent)
        // Otherwise the poller would tell of what cannot be read again and again.
        if work.contains(.input), loopReadsEndpoint { setReadInterest(false) }
        gate.unlock()
        // It may have been given back before the note was there to be seen.
        if readLock.tryLock() { unlockReading() }
        return false
    }

    /// Gives the read lock back.
    @inline(__always)
    func unlockReading() {
        readLock.unlock()
        if isOwed.load(ordering: .sequentiallyConsistent) { giveBackWork() }
    }

    /// Takes the read lock for a moment.
    @inline(__always)
    func withReadLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        readLock.lock()
        defer { unlockReading() }
        return try body()
    }

    /// Whether frames come from the endpoint itself, and the loop is who reads them.
    ///
    /// Called with the gate held.
    private var loopReadsEndpoint: Bool {
        gated.pointee.input == .endpoint && gated.pointee.blockingReader.reader == .loop && !gated.pointee.life.hasEnd
    }

    @inline(never)
    private func giveBackWork() {
        gate.lock()
        let work = gated.pointee.owed
        gated.pointee.owed = []
        isOwed.store(false, ordering: .sequentiallyConsistent)
        if let eventLoop, !gated.pointee.life.isOver {
            if work.contains(.input), loopReadsEndpoint { setReadInterest(true) }
            // Beside shared memory the endpoint tells of the end, once.
            if work.contains(.input), gated.pointee.input.isShared {
                eventLoop.tellAgain(gated.pointee.inputSource, link.inputDescriptor, gated.pointee.inputInterest)
            }
            if work.contains(.bell) { tellBellAgain(eventLoop) }
        }
        gate.unlock()
        if work.contains(.drain) { loop.schedule(.drain, on: self) }
        if work.contains(.end) { loop.schedule(.end, on: self) }
    }
}
