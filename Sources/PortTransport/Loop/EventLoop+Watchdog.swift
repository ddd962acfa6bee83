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
            var held = lock.lock()
            if state.pointee.stopped, state.pointee.phase == .none, writer.load(ordering: .relaxed) == 0 {
                return lock.unlock(held)
            }
            if state.pointee.pieces == seen, isHeld(held) {
                idle = 0
                rest = 1
                let report = takeOver(held)
                lock.unlock(held)
                report?()
                continue
            }
            if !state.pointee.reserved.isEmpty {
                idle = -1
                checkReservations(&held)
            }
            // Between pieces of work nothing is about to be taken over: each tick costs a busy processor microseconds.
            let isInWork = state.pointee.phase == .work
            rest = isInWork || !state.pointee.reserved.isEmpty ? 1 : min(rest * 2, Self.longestRest)
            idle = state.pointee.pieces == seen ? idle + 1 : 0
            seen = state.pointee.pieces
            if idle >= Self.idleTicks, !state.pointee.stopped {
                state.pointee.watchdogParked = true
                while state.pointee.watchdogParked, !state.pointee.stopped { _ = lock.wait(for: watchdogRest, held) }
                state.pointee.watchdogParked = false
                idle = 0
            }
            lock.unlock(held)
        }
    }

    /// Has the watchdog ask `channel` at each tick whether its input is still reserved for a blocking reader.
    func watchReservation(of channel: LoopChannel) {
        lock.withLock { held in
            state.pointee.reserved.append(channel)
            wakeWatchdog(held)
        }
    }

    /// Wakes the watchdog if it rests.
    @inline(__always)
    func wakeWatchdog(_ held: borrowing Held<State>) {
        guard state.pointee.watchdogParked else { return }
        state.pointee.watchdogParked = false
        watchdogRest.signal()
    }

    private func checkReservations(_ held: inout Held<State>) {
        var channels: [LoopChannel] = []
        swap(&channels, &state.pointee.reserved)
        let remaining = lock.unlocked(&held) {
            let remaining = channels.filter { $0.keepsReservation() }
            channels.removeAll()
            return remaining
        }
        state.pointee.reserved += remaining
    }

    /// Whether the leader is in something it has not come out of; one that writes then finds that it may have lost the
    /// leadership.
    private func isHeld(_ held: borrowing Held<State>) -> Bool {
        if state.pointee.phase != .none { return true }
        let token = state.pointee.token
        return token != 0
            && writer.compareExchange(expected: token, desired: 0, ordering: .relaxed).exchanged
    }

    /// Makes another thread the leader.
    ///
    /// - Returns: What is to be called without the lock.
    private func takeOver(_ held: borrowing Held<State>) -> (@Sendable () -> Void)? {
        let hasWaiting = state.pointee.waiting > 0
        if !hasWaiting, state.pointee.threads >= maximumThreads {
            return exhausted(held)
        }
        let next = state.pointee.token &+ 1
        if hasWaiting {
            state.pointee.offered = next
            waitingThreads.signal()
        } else if !startThread(token: next, held) {
            return exhausted(held)
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

    private func exhausted(_ held: borrowing Held<State>) -> (@Sendable () -> Void)? {
        // Still to be taken over from, if it writes.
        if state.pointee.phase == .none { writer.store(state.pointee.token, ordering: .relaxed) }
        guard !state.pointee.exhaustionReported, let hook = state.pointee.onEvent else { return nil }
        state.pointee.exhaustionReported = true
        let threads = state.pointee.threads
        return { hook(.threadsExhausted(threads)) }
    }
}
