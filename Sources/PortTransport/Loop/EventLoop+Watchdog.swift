internal import CPortShims
internal import Synchronization

extension EventLoop {
    /// Ticks without anything to watch before the watchdog rests; waking it costs a system call.
    private static let idleTicks = 8
    /// Times as long as a job may run, between ticks at which no work is found running.
    private static let longestRest: UInt64 = 4

    /// The watchdog's thread.
    func watch() {
        var seen: UInt64 = 0
        var idle = 0
        var rest: UInt64 = 1
        while true {
            port_thread_sleep(takeoverNanoseconds * rest)
            ticks.wrappingAdd(1, ordering: .relaxed)
            lock.lock()
            if state.pointee.stopped, state.pointee.phase == .none, writer.load(ordering: .relaxed) == 0 {
                lock.unlock()
                return
            }
            if state.pointee.pieces == seen, isHeld() {
                idle = 0
                rest = 1
                let report = takeOver()
                lock.unlock()
                report?()
                continue
            }
            if !state.pointee.reserved.isEmpty {
                idle = -1
                checkReservations()
            }
            // Between pieces of work nothing is about to be taken over: each tick costs a busy processor microseconds.
            let isInWork = state.pointee.phase == .work
            rest = isInWork || !state.pointee.reserved.isEmpty ? 1 : min(rest * 2, Self.longestRest)
            idle = state.pointee.pieces == seen ? idle + 1 : 0
            seen = state.pointee.pieces
            if idle >= Self.idleTicks, !state.pointee.stopped {
                state.pointee.watchdogParked = true
                while state.pointee.watchdogParked, !state.pointee.stopped { _ = watchdogRest.wait(lock) }
                state.pointee.watchdogParked = false
                idle = 0
            }
            lock.unlock()
        }
    }

    /// Has the watchdog ask `channel` at each tick whether its input is still reserved for a blocking reader.
    func watchReservation(of channel: LoopChannel) {
        lock.lock()
        state.pointee.reserved.append(channel)
        if state.pointee.watchdogParked {
            state.pointee.watchdogParked = false
            watchdogRest.signal()
        }
        lock.unlock()
    }

    /// Called and returns with the lock held; releases it meanwhile.
    private func checkReservations() {
        var channels: [LoopChannel] = []
        swap(&channels, &state.pointee.reserved)
        lock.unlock()
        let remaining = channels.filter { $0.keepsReservation() }
        channels.removeAll()
        lock.lock()
        state.pointee.reserved += remaining
    }

    /// Whether the leader is in something it has not come out of; one that writes then finds that it may have lost the
    /// leadership.
    ///
    /// Called with the lock held.
    private func isHeld() -> Bool {
        if state.pointee.phase != .none { return true }
        let token = state.pointee.token
        return token != 0
            && writer.compareExchange(expected: token, desired: 0, ordering: .relaxed).exchanged
    }

    /// Makes another thread the leader.
    ///
    /// Called with the lock held; what it returns is called without it.
    private func takeOver() -> (@Sendable () -> Void)? {
        let hasWaiting = state.pointee.waiting > 0
        if !hasWaiting, state.pointee.threads >= maximumThreads {
            return exhausted()
        }
        let next = state.pointee.token &+ 1
        if hasWaiting {
            state.pointee.offered = next
            waitingThreads.signal()
        } else if !startThread(token: next) {
            return exhausted()
        }
        if let channel = state.pointee.delivering {
            state.pointee.captured[state.pointee.token] = channel.takeUnretainedValue()
            state.pointee.delivering = nil
        }
        state.pointee.token = next
        state.pointee.phase = .none
        state.pointee.sleeping = false
        state.pointee.exhaustionReported = false
        return nil
    }

    private func exhausted() -> (@Sendable () -> Void)? {
        // Still to be taken over from, if it writes.
        if state.pointee.phase == .none { writer.store(state.pointee.token, ordering: .relaxed) }
        guard !state.pointee.exhaustionReported, let hook = state.pointee.onEvent else { return nil }
        state.pointee.exhaustionReported = true
        let threads = state.pointee.threads
        return { hook(.threadsExhausted(threads)) }
    }
}
