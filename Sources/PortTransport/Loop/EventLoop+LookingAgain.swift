internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension EventLoop {
    /// Polls in a row that may begin with the channel read last.
    ///
    /// The next one begins with the poller, which watches all descriptors.
    private static let pollsUnasked = 16
    /// The time within a poll after which the poller is asked as well, in nanoseconds.
    private static let timeUnasked: UInt64 = 10_000

    /// How long the loop may wait for descriptors, in nanoseconds; negative for no limit.
    @inline(__always)
    func timeToWait(_ held: borrowing Held<State>) -> Int64 {
        guard state.pointee.queue.isEmpty, !state.pointee.stopped else { return 0 }
        guard let earliest = state.pointee.timers.earliest else { return -1 }
        let now = monotonicNow()
        return earliest > now ? Int64(clamping: earliest - now) : 0
    }

    /// The shared memory of the channel read last, if it has any; the caller calls `letGo` on it.
    @inline(__always)
    func lastMemory(_ held: borrowing Held<State>) -> RingPeek? {
        guard let token = state.pointee.lastSource.token else { return nil }
        // A channel is removed from the loop, under this lock, before its memory is given back.
        return channel(of: token, held)?._withUnsafeGuaranteedRef { $0.memoryToPoll() }
    }

    /// Whether a poll would keep from running what the channel read last waits for.
    func isPollInTheWay(_ held: borrowing Held<State>) -> Bool {
        guard let token = state.pointee.lastSource.token else { return false }
        return channel(of: token, held)?._withUnsafeGuaranteedRef {
            $0.peerIsHere || $0.skipsPoll()
        } ?? false
    }

    /// Looks for input and new work without sleeping, until there is some or the time is over.
    ///
    /// It looks at the channel read last before it asks the poller: input nearly always comes there, and reading it
    /// costs less than asking.
    ///
    /// - Parameter wait: Set to how long the loop may sleep if nothing was found: meanwhile other threads may have
    ///   added work and timers without waking the leader.
    /// - Returns: Nil if nothing was found.
    func look(
        _ first: Spinning, _ memory: RingPeek?, _ wait: inout Int64, _ thread: UnsafeMutablePointer<LoopThread>
    ) -> Found? {
        var spinning = first
        var found = isTimeToAsk() ? askPoller() : nil
        var asked: UInt64 = 0
        while found == nil, !hasNews.load(ordering: .relaxed) {
            if let memory {
                if memory.hasChanged { found = .lastSource }
            } else {
                found = tryWithoutMemory(thread)
            }
            if found != nil { break }
            guard spinning.goesOn() else { break }
            // Before the clock has been read in this poll, `now` is 0 and it is too early.
            guard spinning.now &- asked >= Self.timeUnasked else { continue }
            if asked > 0 || memory == nil { found = askPoller() }
            asked = spinning.now
        }
        memory?.letGo()
        let isAnswered = found != nil || hasNews.load(ordering: .relaxed)
        if case .lost? = found {
            spinning.giveUp()
        } else {
            spinning.end(isAnswered: isAnswered, &iteration.pointee.policy)
        }
        if let found { return found }
        return lock.withLock { held -> Bool in
            wait = timeToWait(held)
            state.pointee.leader.attend(wait != 0 ? .sleeping : .awake)
            return wait != 0 && state.pointee.lastSource.isUnarmed
        } ? arm(thread) : nil
    }

    /// Whether to ask the poller before the channel read last, so that other channels are served.
    @inline(__always)
    private func isTimeToAsk() -> Bool {
        let tick = ticks.load(ordering: .relaxed)
        iteration.pointee.unasked += 1
        return iteration.pointee.unasked >= Self.pollsUnasked || tick != iteration.pointee.tick
    }

    private func askPoller() -> Found? {
        iteration.pointee.unasked = 0
        iteration.pointee.tick = ticks.load(ordering: .relaxed)
        let count = port_poller_wait(poller, iteration.pointee.events, CInt(Iteration.capacity), 0)
        return count == 0 ? nil : .events(count)
    }

    /// Tries to read the channel read last; asks the poller if there is no such channel.
    private func tryWithoutMemory(_ thread: UnsafeMutablePointer<LoopThread>) -> Found? {
        let held = lock.lock()
        guard state.pointee.lastSource != .none else {
            lock.unlock(held)
            return askPoller()
        }
        return read(thread, bits: UInt32(PORT_POLLED), unlocking: held)
    }

    /// Before the loop sleeps: asks the peer of the channel read last to ring the doorbell again, and reads what came
    /// before.
    func arm(_ thread: UnsafeMutablePointer<LoopThread>) -> Found? {
        let held = lock.lock()
        guard state.pointee.lastSource.isUnarmed else {
            lock.unlock(held)
            return nil
        }
        return read(thread, bits: 0, unlocking: held)
    }

    private func read(
        _ thread: UnsafeMutablePointer<LoopThread>, bits: UInt32, unlocking kept: consuming Held<State>
    ) -> Found? {
        var held = kept
        let receiver = readLastSource(thread, bits: bits, &held)
        let isLost = !leads(thread, held)
        lock.unlock(held)
        if isLost { return .lost }
        return receiver.map { .frames(for: $0) }
    }

    /// Reads the channel read last; see `read`.
    func readLastSource(
        _ thread: UnsafeMutablePointer<LoopThread>, bits: UInt32, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        guard let token = state.pointee.lastSource.token, let channel = channel(of: token, held) else {
            state.pointee.lastSource = .none
            return nil
        }
        state.pointee.lastSource = bits & UInt32(PORT_POLLED) != 0 ? .unarmed(token) : .armed(token)
        return read(channel, bits | UInt32(PORT_READABLE) | UInt32(PORT_DOORBELL), thread, &held)
    }

    func setLastSource(_ token: UInt64?, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>) {
        guard state.pointee.lastSource.token != token else { return }
        if state.pointee.lastSource.isUnarmed, let receiver = readLastSource(thread, bits: 0, &held) {
            state.pointee.queue.append(.notify(receiver))
        }
        if leads(thread, held) { state.pointee.lastSource = token.map { .armed($0) } ?? .none }
    }

    /// Releases what was removed, without the lock.
    @inline(never)
    func forgetRemoved(_ held: inout Held<State>) {
        var removed: [any PollHandler] = []
        swap(&removed, &state.pointee.removed)
        lock.unlocked(&held) { removed.removeAll() }
    }
}

/// The source that frames came from last, if it may be read without asking the poller; under the loop's lock.
///
///     none --(frames come)--> armed --(read while the loop polls)--> unarmed
///     unarmed --(read before the loop sleeps, or before another source takes the place)--> armed
///     armed, unarmed --(removed, or frames come from a source that may not be read so)--> none
enum LastSource: Equatable {
    case none
    /// The poller reports input of the source.
    case armed(UInt64)
    /// The source was read without asking its peer to ring the doorbell; the loop has to ask before it sleeps.
    case unarmed(UInt64)

    @inline(__always)
    var token: UInt64? {
        switch self {
        case .none: nil
        case .armed(let token), .unarmed(let token): token
        }
    }

    @inline(__always)
    var isUnarmed: Bool {
        if case .unarmed = self { true } else { false }
    }
}
