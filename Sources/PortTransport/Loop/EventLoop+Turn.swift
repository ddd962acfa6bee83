internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension EventLoop {
    /// Pieces of work between two polls, and calls of the poller in one breath.
    private static let piecesBetweenPolls = 256

    /// Called with the lock held.
    func startThreads() {
        startThread(token: state.pointee.token)
        let retained = Unmanaged.passRetained(self)
        let result = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().watch()
                return nil
            }, retained.toOpaque(), "distant-watch")
        if result != 0 { retained.release() }
    }

    /// Starts a thread as the leader of `token`.
    ///
    /// Called with the lock held. False if the system has none.
    @discardableResult
    func startThread(token: UInt64) -> Bool {
        state.pointee.offered = token
        let retained = Unmanaged.passRetained(self)
        let result = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, retained.toOpaque(), "distant-loop")
        guard result == 0 else {
            retained.release()
            state.pointee.offered = nil
            return false
        }
        state.pointee.threads += 1
        return true
    }

    /// The life of a thread: it leads, loses the leadership, waits for another one, and goes when none comes.
    private func work() {
        let thread = UnsafeMutablePointer<LoopThread>.allocate(capacity: 1)
        thread.initialize(to: LoopThread(loop: Unmanaged.passUnretained(self).toOpaque(), token: 0))
        port_thread_set_record(thread)
        lock.lock()
        while true {
            if let token = state.pointee.offered {
                state.pointee.offered = nil
                thread.pointee.token = token
                lead(token, thread)
                continue
            }
            if state.pointee.stopped { break }
            state.pointee.waiting += 1
            let signalled = waitingThreads.wait(lock, until: monotonicNow() + 10_000_000_000)
            state.pointee.waiting -= 1
            if !signalled, state.pointee.offered == nil { break }
        }
        state.pointee.threads -= 1
        lock.unlock()
        port_thread_set_record(nil)
        thread.deinitialize(count: 1)
        thread.deallocate()
    }

    /// Runs turns until the leadership is lost.
    ///
    /// Called and returns with the lock held.
    private func lead(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>) {
        let executor = asUnownedTaskExecutor()
        // A predecessor's output must not wait for the jobs behind the one it is in.
        lock.unlock()
        flushDirty()
        lock.lock()
        while true {
            let tick = ticks.load(ordering: .relaxed)
            var pieces = 0
            while pieces < Self.piecesBetweenPolls, runNext(executor) {
                pieces += 1
                lock.lock()
                guard state.pointee.token == token else { return }
                // Jobs without end must not keep the descriptors waiting.
                if ticks.load(ordering: .relaxed) != tick { break }
            }
            state.pointee.inWork = false
            if state.pointee.stopped, state.pointee.queue.isEmpty, turn.pointee.dirty.isEmpty { return }
            guard let handler = pollAndUnlock(thread) else { continue }
            if state.pointee.queue.isEmpty {
                beginWork()
                lock.unlock()
                tell(consume handler)
                lock.lock()
                guard state.pointee.token == token else { return }
            } else {
                state.pointee.queue.append(.turn(handler))
            }
        }
    }

    /// Ends the turn in the midst of a job, if the calling thread leads and there is nothing else to do: flushes `channel`
    /// and what else is dirty, waits for descriptors once, and reads.
    ///
    /// So a job that needs what comes next need not be put down and taken up again.
    func waitInJob(for handler: any FrameHandler, flushing channel: Channel) -> WaitResult {
        guard let thread = LoopThread.current, thread.pointee.belongs(to: self) else { return .refused }
        lock.lock()
        defer { lock.unlock() }
        guard thread.pointee.token == state.pointee.token, state.pointee.queue.isEmpty, !state.pointee.stopped else {
            return .refused
        }
        mark(channel)
        state.pointee.inWork = false
        let told = pollAndUnlock(thread)
        beginWork()
        guard let told else { return .over }
        if told === handler { return .delivered }
        state.pointee.queue.append(.turn(told))
        return .over
    }

    /// As `runNext`, for what need not go through the queue.
    ///
    /// Called without the lock.
    @inline(never)
    private func tell(_ handler: consuming any FrameHandler) { handler.turnEnded(onLoop: true) }

    /// Called with the lock held.
    @inline(__always)
    private func beginWork() {
        state.pointee.inWork = true
        state.pointee.pieces &+= 1
        if state.pointee.watchdogParked {
            state.pointee.watchdogParked = false
            watchdogRest.signal()
        }
    }

    /// Runs what is next in the queue.
    ///
    /// Called with the lock held; it is released if there was something.
    ///
    /// A function of its own, so that what the work holds is freed, and user code of a `deinit` has run, before the lock
    /// is taken again.
    @inline(never)
    private func runNext(_ executor: UnownedTaskExecutor) -> Bool {
        guard let work = state.pointee.queue.popFirst() else { return false }
        beginWork()
        lock.unlock()
        switch work {
        case .job(let job): job.runSynchronously(on: executor)
        case .runnerJob(let job, let runner): runner.run(job)
        case .closure(let closure): closure()
        case .channel(let channel, let work): channel.perform(work)
        case .turn(let handler): handler.turnEnded(onLoop: true)
        }
        return true
    }

    /// Writes what was enqueued in this turn.
    ///
    /// Called without the lock. No user code runs here, so it is not taken over.
    private func flushDirty() {
        while !turn.pointee.dirty.isEmpty {
            if turn.pointee.dirty.count == 1 {
                flushOne()
                continue
            }
            var channels: [Channel] = []
            swap(&channels, &turn.pointee.dirty)
            for channel in channels { channel.isDirty.store(false, ordering: .relaxed) }
            for channel in channels { channel.flush() }
        }
    }

    /// The most frequent case, which keeps the array's memory.
    @inline(__always)
    private func flushOne() {
        let channel = turn.pointee.dirty.removeLast()
        channel.isDirty.store(false, ordering: .relaxed)
        channel.flush()
    }

    /// Ends the turn: writes, waits for descriptors and reads.
    ///
    /// Called with the lock held, and so it returns; released in between. Returns whom to tell of a read, unless that stands
    /// in the queue.
    private func pollAndUnlock(_ thread: UnsafeMutablePointer<LoopThread>) -> (any FrameHandler)? {
        let events = turn.pointee.events
        var wait = timeToWait()
        let spin = wait == 0 ? 0 : spinNanoseconds.load(ordering: .relaxed)
        // Whoever adds work from now on sees the flag and wakes the poller.
        state.pointee.sleeping = wait != 0 && spin == 0
        lock.unlock()
        flushDirty()
        var count: CInt = 0
        var found: (any FrameHandler)?
        if spin > 0 { (count, found) = poll(for: spin, &wait, thread) }
        if turn.pointee.isUntold, count == 0, found == nil { found = readLastSource(thread, bits: 0) }
        if count == 0, found == nil { count = port_poller_wait(poller, events, CInt(Turn.capacity), wait) }
        lock.lock()
        state.pointee.sleeping = false
        endDelivery()
        if state.pointee.timers.earliest != nil {
            let now = monotonicNow()
            while let action = state.pointee.timers.popDue(now) { state.pointee.queue.append(.closure(action)) }
        }
        guard count > 0 else {
            if count < 0 { lookEverywhere(thread) }
            return found
        }
        if count == 1, let channel = channel(of: events[0].token) {
            // Instead of a reference to the channel and to whatever it holds.
            state.pointee.isDelivering = true
            lock.unlock()
            thread.pointee.isReading = true
            let told = channel._withUnsafeGuaranteedRef { $0.ready(bits(of: events[0]), readContext: readContext) }
            thread.pointee.isReading = false
            if spin > 0, told != nil {
                let isSocket = channel._withUnsafeGuaranteedRef { $0.isSocket }
                setLastSource(isSocket ? events[0].token & ~Self.bellBit : 0, thread)
            }
            lock.lock()
            endDelivery()
            return told
        }
        for index in 0..<Int(count) {
            if let handler = handler(of: events[index].token) {
                turn.pointee.ready.append((handler, bits(of: events[index])))
            }
        }
        lock.unlock()
        var told: [any FrameHandler] = []
        thread.pointee.isReading = true
        for (handler, bits) in turn.pointee.ready {
            if let handler = handler.ready(bits, readContext: readContext) { told.append(handler) }
        }
        thread.pointee.isReading = false
        turn.pointee.ready.removeAll(keepingCapacity: true)
        lock.lock()
        for handler in told { state.pointee.queue.append(.turn(handler)) }
        return nil
    }

    /// The poller cannot be asked: somebody has closed its descriptor, as programs that close all of theirs do.
    ///
    /// Then every source is tried now and then, so that what is left goes on, if slowly, and what was closed, too, ends.
    ///
    /// Called with the lock held, and so it returns; released in between.
    @inline(never)
    private func lookEverywhere(_ thread: UnsafeMutablePointer<LoopThread>) {
        let handlers = state.pointee.sources.compactMap(\.handler)
        lock.unlock()
        var pause = timespec(tv_sec: 0, tv_nsec: 10_000_000)
        nanosleep(&pause, nil)
        let bits = UInt32(PORT_READABLE) | UInt32(PORT_WRITABLE) | UInt32(PORT_HANG_UP)
        thread.pointee.isReading = true
        var told = handlers.compactMap { $0.ready(bits, readContext: readContext) }
        told += handlers.compactMap {
            $0.ready(UInt32(PORT_READABLE | PORT_BELL | PORT_POLLED), readContext: readContext)
        }
        thread.pointee.isReading = false
        lock.lock()
        for handler in told { state.pointee.queue.append(.turn(handler)) }
    }

    /// One attempt in so many asks the poller, which knows of all descriptors.
    private static let attemptsBetweenPolls: UInt32 = 16

    /// For how many nanoseconds there is nothing to do but to wait for descriptors; below 0: for ever.
    ///
    /// Called with the lock held.
    @inline(__always)
    private func timeToWait() -> Int64 {
        guard state.pointee.queue.isEmpty, !state.pointee.stopped else { return 0 }
        guard let earliest = state.pointee.timers.earliest else { return -1 }
        let now = monotonicNow()
        return earliest > now ? Int64(clamping: earliest - now) : 0
    }

    /// Looks for input without sleeping, until there is something or the time is over; says in `wait` how long to sleep
    /// then, as others add work and timers meanwhile and wake nobody.
    ///
    /// Nearly always it is the channel read last that has some: to read it costs less than to ask the poller, and saves that.
    ///
    /// Called without the lock; `endDelivery` is due afterwards.
    private func poll(
        for spin: UInt64, _ wait: inout Int64, _ thread: UnsafeMutablePointer<LoopThread>
    ) -> (count: CInt, told: (any FrameHandler)?) {
        var spinning = Spinning(for: spin)
        while true {
            // Without the lock, as it may give the processor away.
            let goesOn = spinning.goesOn()
            lock.lock()
            endDelivery()
            wait = timeToWait()
            let isOver = wait == 0 || !goesOn
            if isOver { state.pointee.sleeping = wait != 0 }
            lock.unlock()
            if isOver { return (0, nil) }
            turn.pointee.attempts &+= 1
            if turn.pointee.lastSource != 0, turn.pointee.attempts % Self.attemptsBetweenPolls != 0 {
                if let told = readLastSource(thread, bits: UInt32(PORT_POLLED)) { return (0, told) }
            } else {
                let count = port_poller_wait(poller, turn.pointee.events, CInt(Turn.capacity), 0)
                if count != 0 { return (count, nil) }
            }
        }
    }

    /// Reads the channel read last.
    ///
    /// Called without the lock; `endDelivery` is due afterwards.
    private func readLastSource(
        _ thread: UnsafeMutablePointer<LoopThread>, bits: UInt32
    ) -> (any FrameHandler)? {
        lock.lock()
        endDelivery()
        let channel = channel(of: turn.pointee.lastSource)
        state.pointee.isDelivering = channel != nil
        lock.unlock()
        turn.pointee.isUntold = bits & UInt32(PORT_POLLED) != 0 && channel != nil
        guard let channel else {
            turn.pointee.lastSource = 0
            return nil
        }
        thread.pointee.isReading = true
        defer { thread.pointee.isReading = false }
        return channel._withUnsafeGuaranteedRef {
            $0.ready(bits | UInt32(PORT_READABLE) | UInt32(PORT_BELL), readContext: readContext)
        }
    }

    /// Called without the lock.
    private func setLastSource(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>) {
        guard turn.pointee.lastSource != token else { return }
        if turn.pointee.isUntold, let told = readLastSource(thread, bits: 0) {
            lock.withLock { state.pointee.queue.append(.turn(told)) }
        }
        turn.pointee.lastSource = token
    }

    /// Called and returns with the lock held.
    @inline(__always)
    private func endDelivery() {
        state.pointee.isDelivering = false
        if !state.pointee.removed.isEmpty { forgetRemoved() }
    }

    /// Called and returns with the lock held; lets go of what was removed without it.
    @inline(never)
    private func forgetRemoved() {
        var removed: [any PollHandler] = []
        swap(&removed, &state.pointee.removed)
        lock.unlock()
        removed.removeAll()
        lock.lock()
    }
}
