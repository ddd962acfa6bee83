internal import CPortShims
internal import Synchronization

extension EventLoop {
    /// The watchdog rests after so many ticks with nothing to watch; waking it costs a system call.
    private static let idleTicks = 8
    /// The longest time between two ticks, as a multiple of `takeover`, while they find no work running.
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
            if state.pointee.stopped, !state.pointee.leader.isInPiece, writer.load(ordering: .relaxed) == 0 {
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
            // While no work runs there is nothing to take over. Ticks come less often then: each costs a busy processor
            // microseconds.
            let isInWork = state.pointee.leader == .working
            rest = isInWork || !state.pointee.reserved.isEmpty ? 1 : min(rest * 2, Self.longestRest)
            idle = state.pointee.pieces == seen ? idle + 1 : 0
            seen = state.pointee.pieces
            if idle >= Self.idleTicks, !state.pointee.stopped {
                state.pointee.watchdog.rest()
                while state.pointee.watchdog == .resting, !state.pointee.stopped {
                    _ = lock.wait(for: watchdogRest, held)
                }
                _ = state.pointee.watchdog.wake()
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
        if state.pointee.watchdog.wake() { watchdogRest.signal() }
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

    /// Whether the leader is still in a piece of work, a read or a write.
    ///
    /// If it writes, this clears `writer`: after the write the leader checks whether it has lost the leadership.
    private func isHeld(_ held: borrowing Held<State>) -> Bool {
        if state.pointee.leader.isInPiece { return true }
        let token = state.pointee.token
        return token != 0
            && writer.compareExchange(expected: token, desired: 0, ordering: .relaxed).exchanged
    }

    /// Makes another thread the leader.
    ///
    /// - Returns: The report to call once the lock is released; nil if there is none.
    private func takeOver(_ held: borrowing Held<State>) -> (@Sendable () -> Void)? {
        let hasWaiting = state.pointee.waiting > 0
        if !hasWaiting, state.pointee.threads >= maximumThreads {
            return exhausted(held)
        }
        if hasWaiting {
            waitingThreads.signal()
        } else if !startThread(held) {
            return exhausted(held)
        }
        if let channel = state.pointee.delivering {
            state.pointee.captured[state.pointee.token] = channel.takeUnretainedValue()
            state.pointee.delivering = nil
        }
        state.pointee.token &+= 1
        state.pointee.leader.call()
        state.pointee.supply.found()
        // The next leader tells it, because that may run user code, for which the watchdog has no time.
        if let runner = state.pointee.told.take() { state.pointee.queue.append(.closure { runner.wentOn() }) }
        return nil
    }

    private func exhausted(_ held: borrowing Held<State>) -> (@Sendable () -> Void)? {
        // `isHeld` has cleared `writer` if the leader writes. Set again, so that the next tick tries once more.
        if !state.pointee.leader.isInPiece { writer.store(state.pointee.token, ordering: .relaxed) }
        guard let hook = state.pointee.onEvent, state.pointee.supply.runOut() else { return nil }
        let threads = state.pointee.threads
        return { hook(.threadsExhausted(threads)) }
    }
}

/// Whether the watchdog ticks; under the loop's lock.
///
///     ticking --(it has nothing to watch for a while)--> resting --(the leader begins a piece)--> ticking
enum Watchdog {
    case ticking
    /// It waits until there is something to watch.
    case resting

    mutating func rest() { self = .resting }

    /// - Returns: Whether it rested.
    @inline(__always)
    mutating func wake() -> Bool {
        guard self == .resting else { return false }
        self = .ticking
        return true
    }
}

/// Whether the loop has threads left that can lead; under the loop's lock.
///
///     enough --(no thread can take over)--> exhausted --(a thread takes over)--> enough
enum ThreadSupply {
    case enough
    /// No thread could take over the last time, and this was reported.
    case exhausted

    /// Notes that no thread can take over.
    ///
    /// - Returns: Whether to report that.
    mutating func runOut() -> Bool {
        guard self == .enough else { return false }
        self = .exhausted
        return true
    }

    /// Notes that a thread takes over.
    mutating func found() { self = .enough }
}
