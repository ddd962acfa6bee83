internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension EventLoop {
    /// One attempt in this many asks the poller, which watches all descriptors.
    static let attemptsBetweenPolls: UInt32 = 16

    /// How long the loop may wait for descriptors, in nanoseconds; negative for no limit.
    @inline(__always)
    func timeToWait(_ held: borrowing Held<State>) -> Int64 {
        guard state.pointee.queue.isEmpty, !state.pointee.stopped else { return 0 }
        guard let earliest = state.pointee.timers.earliest else { return -1 }
        let now = monotonicNow()
        return earliest > now ? Int64(clamping: earliest - now) : 0
    }

    /// Looks for input without sleeping, until there is something or the time is over.
    ///
    /// Nearly always the channel read last has some: to read it costs less than to ask the poller, and saves that.
    ///
    /// - Parameter wait: Then says how long to sleep, as other threads add work and timers meanwhile and wake nobody.
    /// - Returns: Nil if nothing was found.
    func lookAgain(for spin: UInt64, _ wait: inout Int64, _ thread: UnsafeMutablePointer<LoopThread>) -> Found? {
        var spinning = Spinning(for: spin)
        while spin > 0 {
            // Without the lock, as it may give the processor away.
            let goesOn = spinning.goesOn()
            var held = lock.lock()
            wait = timeToWait(held)
            if wait == 0 || !goesOn {
                state.pointee.sleeping = wait != 0
                lock.unlock(held)
                break
            }
            iteration.pointee.attempts &+= 1
            if state.pointee.lastSource != 0, iteration.pointee.attempts % Self.attemptsBetweenPolls != 0 {
                let receiver = readLastSource(thread, bits: UInt32(PORT_POLLED), &held)
                let isLost = !leads(thread, held)
                lock.unlock(held)
                if isLost { return .lost }
                if let receiver { return .frames(for: receiver) }
            } else {
                lock.unlock(held)
                let count = port_poller_wait(poller, iteration.pointee.events, CInt(Iteration.capacity), 0)
                if count != 0 { return .events(count) }
            }
        }
        var held = lock.lock()
        guard state.pointee.isUnarmed else {
            lock.unlock(held)
            return nil
        }
        let receiver = readLastSource(thread, bits: 0, &held)
        let isLost = !leads(thread, held)
        lock.unlock(held)
        if isLost { return .lost }
        return receiver.map { .frames(for: $0) }
    }

    /// Reads the channel read last; see `read`.
    func readLastSource(
        _ thread: UnsafeMutablePointer<LoopThread>, bits: UInt32, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        let channel = channel(of: state.pointee.lastSource, held)
        state.pointee.isUnarmed = bits & UInt32(PORT_POLLED) != 0 && channel != nil
        guard let channel else {
            state.pointee.lastSource = 0
            return nil
        }
        return read(channel, bits | UInt32(PORT_READABLE) | UInt32(PORT_DOORBELL), thread, &held)
    }

    func setLastSource(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>) {
        guard state.pointee.lastSource != token else { return }
        if state.pointee.isUnarmed, let receiver = readLastSource(thread, bits: 0, &held) {
            state.pointee.queue.append(.notify(receiver))
        }
        if leads(thread, held) { state.pointee.lastSource = token }
    }

    /// Releases what was removed, without the lock.
    @inline(never)
    func forgetRemoved(_ held: inout Held<State>) {
        var removed: [any PollHandler] = []
        swap(&removed, &state.pointee.removed)
        lock.unlocked(&held) { removed.removeAll() }
    }
}
