internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A process at the other end of channels, whose end the loop watches.
///
/// When a process ends, the system closes its descriptors, and a channel finds the end of its input. But another process
/// may hold the same end: a child that the peer has forked, or a program that a script has started beside the peer. So the
/// loop watches the process itself, with one descriptor for all the channels to it.
final class PeerProcess: PollHandler, @unchecked Sendable {
    // The loop's lock protects the three variables. The rest does not change.

    private unowned let loop: EventLoop
    /// The process's number; 0 if the namespace of this process does not contain it.
    fileprivate let pid: Int32
    /// Readable once the process has ended.
    fileprivate let descriptor: CInt
    /// The number of channels that have not forgotten it.
    fileprivate var users = 1
    /// 0 until the descriptor is registered.
    fileprivate var source: UInt64 = 0
    /// The loop no longer watches it, because it has ended, or because no channel uses it.
    fileprivate var isOver = false

    fileprivate init(_ loop: EventLoop, pid: Int32, descriptor: CInt) {
        self.loop = loop
        self.pid = pid
        self.descriptor = descriptor
    }

    deinit { port_close(descriptor) }

    fileprivate var isRunning: Bool { port_wait_one(descriptor, UInt32(PORT_READABLE), 0) <= 0 }

    func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
        // A loop whose poller fails also calls sources that are not ready.
        if !isRunning { loop.ended(self) }
        return nil
    }
}

/// What the loop knows about a process that a channel has heard from.
enum HeardProcess {
    /// The loop calls the channel's `processEnded` when it ends.
    case watched(PeerProcess)
    case ended
    /// The system cannot watch it, or this process has no descriptor left for that.
    case unknown
}

extension EventLoop {
    /// Watches the process that has sent bytes to a channel, which calls `forget` at its end.
    ///
    /// If the process is known by its number alone, the number may already be that of a later process. Then the sender has
    /// ended, and the channel may end with the later process: too late, but never too early.
    ///
    /// - Parameters:
    ///   - pid: Its number; 0 if the namespace of this process does not contain it.
    ///   - given: A descriptor of it, which the loop owns from now on, or what `port_ancillary.process` has instead.
    func watch(_ pid: Int32, given: CInt) -> HeardProcess {
        if pid > 0, let known = running(pid) {
            if given >= 0 { port_close(given) }
            return .watched(known)
        }
        let isGiven = given != CInt(PORT_NO_PROCESS)
        guard isGiven || pid > 0 else { return .unknown }
        let opened = isGiven ? given : port_process_descriptor(pid)
        guard opened >= 0 else { return (isGiven ? -opened : errno) == ESRCH ? .ended : .unknown }
        let descriptor = port_unless_last(opened)
        guard descriptor >= 0 else { return .unknown }
        let process = PeerProcess(self, pid: pid, descriptor: descriptor)
        guard let source = try? addSource(descriptor, interest: UInt32(PORT_READABLE), process) else { return .unknown }
        let isOver = lock.withLock {
            process.source = source
            if !process.isOver, pid > 0 { state.pointee.peers[pid] = process }
            return process.isOver
        }
        guard isOver else { return .watched(process) }
        // It ended before the loop knew which source to remove.
        removeSource(source, descriptor, interest: UInt32(PORT_READABLE))
        return .ended
    }

    /// The process of that number that a channel has heard from, if it still runs: only then the number is still its own.
    private func running(_ pid: Int32) -> PeerProcess? {
        let known = lock.withLock { () -> PeerProcess? in
            guard let known = state.pointee.peers[pid] else { return nil }
            known.users += 1
            return known
        }
        guard let known else { return nil }
        if known.isRunning { return known }
        forget(known)
        return nil
    }

    /// A channel no longer uses a process.
    func forget(_ process: PeerProcess) {
        let source = lock.withLock { held in
            process.users -= 1
            return process.users == 0 ? retire(process, held) : nil
        }
        if let source { stopWatching(process, source) }
    }

    /// Whether the process has ended, for a channel that has begun to use it just now.
    func hasEnded(_ process: PeerProcess) -> Bool { lock.withLock { process.isOver } }

    fileprivate func ended(_ process: PeerProcess) {
        guard let source = lock.withLock({ held in retire(process, held) }) else { return }
        stopWatching(process, source)
        // A channel that is not among the sources yet asks `hasEnded`.
        for channel in lock.withLock({ state.pointee.sources.compactMap { $0.channel?.takeUnretainedValue() } }) {
            channel.processEnded(process)
        }
    }

    /// Ends the use of a process: no further channel finds it by its number.
    ///
    /// - Returns: Its source; nil if its use has ended before.
    private func retire(_ process: PeerProcess, _ held: borrowing Held<State>) -> UInt64? {
        guard !process.isOver else { return nil }
        process.isOver = true
        if state.pointee.peers[process.pid] === process { state.pointee.peers[process.pid] = nil }
        return process.source
    }

    private func stopWatching(_ process: PeerProcess, _ source: UInt64) {
        // It is not registered yet, or not known to be: `watch` removes it.
        guard source != 0 else { return }
        removeSource(source, process.descriptor, interest: UInt32(PORT_READABLE))
    }
}
