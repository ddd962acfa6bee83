internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension EventLoop {
    /// One attempt in so many asks the poller, which knows of all descriptors.
    static let attemptsBetweenPolls: UInt32 = 16

    /// How long the loop may wait for descriptors, in nanoseconds; negative for no limit.
    ///
    /// Called with the lock held.
    @inline(__always)
    func timeToWait() -> Int64 {
        guard state.pointee.queue.isEmpty, !state.pointee.stopped else { return 0 }
        guard let earliest = state.pointee.timers.earliest else { return -1 }
        let now = monotonicNow()
        return earliest > now ? Int64(clamping: earliest - now) : 0
    }

    /// What was found without sleeping.
    enum Found {
        case nothing
        /// So many events, or an error below 0.
        case events(CInt)
        case told(any FrameHandler)
        /// Another thread leads.
        case lost
    }

    /// Looks for input without sleeping, until there is something or the time is over; says in `wait` how long to sleep
    /// then, as others add work and timers meanwhile and wake nobody.
    ///
    /// Nearly always it is the channel read last that has some: to read it costs less than to ask the poller, and saves that.
    ///
    /// Called without the lock.
    func lookAgain(
        for spin: UInt64, _ wait: inout Int64, _ thread: UnsafeMutablePointer<LoopThread>
    ) -> Found {
        var spinning = Spinning(for: spin)
        while spin > 0 {
            // Without the lock, as it may give the processor away.
            let goesOn = spinning.goesOn()
            lock.lock()
            wait = timeToWait()
            if wait == 0 || !goesOn {
                state.pointee.sleeping = wait != 0
                lock.unlock()
                break
            }
            turn.pointee.attempts &+= 1
            if state.pointee.lastSource != 0, turn.pointee.attempts % Self.attemptsBetweenPolls != 0 {
                let told = readLastSource(thread, bits: UInt32(PORT_POLLED))
                let isLost = !leads(thread)
                lock.unlock()
                if isLost { return .lost }
                if let told { return .told(told) }
            } else {
                lock.unlock()
                let count = port_poller_wait(poller, turn.pointee.events, CInt(Turn.capacity), 0)
                if count != 0 { return .events(count) }
            }
        }
        lock.lock()
        defer { lock.unlock() }
        guard state.pointee.isUntold else { return .nothing }
        let told = readLastSource(thread, bits: 0)
        guard leads(thread) else { return .lost }
        return told.map { .told($0) } ?? .nothing
    }

    /// Reads the channel read last.
    ///
    /// Called with the lock held, and so it returns; released in between. As `read`.
    func readLastSource(
        _ thread: UnsafeMutablePointer<LoopThread>, bits: UInt32
    ) -> (any FrameHandler)? {
        let channel = channel(of: state.pointee.lastSource)
        state.pointee.isUntold = bits & UInt32(PORT_POLLED) != 0 && channel != nil
        guard let channel else {
            state.pointee.lastSource = 0
            return nil
        }
        return read(channel, bits | UInt32(PORT_READABLE) | UInt32(PORT_BELL), thread)
    }

    /// Called with the lock held, and so it returns; released in between.
    func setLastSource(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>) {
        guard state.pointee.lastSource != token else { return }
        if state.pointee.isUntold, let told = readLastSource(thread, bits: 0) {
            state.pointee.queue.append(.turn(told))
        }
        if leads(thread) { state.pointee.lastSource = token }
    }

    /// Called and returns with the lock held; lets go of what was removed without it.
    @inline(never)
    func forgetRemoved() {
        var removed: [any PollHandler] = []
        swap(&removed, &state.pointee.removed)
        lock.unlock()
        removed.removeAll()
        lock.lock()
    }
}
