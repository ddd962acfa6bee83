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
        let readContext = UnsafeMutablePointer<ReadContext>.allocate(capacity: 1)
        readContext.initialize(to: ReadContext())
        thread.initialize(
            to: LoopThread(loop: Unmanaged.passUnretained(self).toOpaque(), token: 0, readContext: readContext))
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
        readContext.deinitialize(count: 1)
        readContext.deallocate()
    }

    /// Runs turns until the leadership is lost.
    ///
    /// Called and returns with the lock held.
    private func lead(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>) {
        let executor = asUnownedTaskExecutor()
        // A predecessor's output must not wait for the jobs behind the one it is in.
        _ = flushDirtyAndUnlock(thread)
        lock.lock()
        while state.pointee.token == token {
            let tick = ticks.load(ordering: .relaxed)
            var pieces = 0
            while pieces < Self.piecesBetweenPolls, runNext(executor) {
                pieces += 1
                lock.lock()
                guard state.pointee.token == token else { return }
                // Jobs without end must not keep the descriptors waiting.
                if ticks.load(ordering: .relaxed) != tick { break }
            }
            state.pointee.phase = .none
            if state.pointee.stopped, state.pointee.queue.isEmpty, state.pointee.dirty.isEmpty,
                state.pointee.ready.isEmpty
            {
                return
            }
            guard let handler = pollAndUnlock(thread) else { continue }
            if state.pointee.queue.isEmpty {
                begin(.work)
                lock.unlock()
                tell(consume handler)
                lock.lock()
            } else {
                state.pointee.queue.append(.turn(handler))
            }
        }
    }

    /// Ends the turn in the midst of a job, if the calling thread leads and there is nothing else to do: flushes `channel`
    /// and what else is dirty, waits for descriptors once, and reads.
    ///
    /// So a job that needs what comes next need not be put down and taken up again.
    func waitInJob(for handler: any FrameHandler, flushing channel: LoopChannel) -> WaitResult {
        guard let thread = LoopThread.current, thread.pointee.belongs(to: self) else { return .refused }
        lock.lock()
        defer { lock.unlock() }
        guard leads(thread), state.pointee.queue.isEmpty, state.pointee.ready.isEmpty, !state.pointee.stopped else {
            return .refused
        }
        mark(channel)
        state.pointee.phase = .none
        let told = pollAndUnlock(thread)
        guard leads(thread) else { return .over }
        begin(.work)
        guard let told else { return .over }
        if told === handler { return .delivered }
        state.pointee.queue.append(.turn(told))
        return .over
    }

    /// Called with the lock held.
    @inline(__always)
    func leads(_ thread: UnsafeMutablePointer<LoopThread>) -> Bool {
        thread.pointee.token == state.pointee.token
    }

    /// As `runNext`, for what need not go through the queue.
    ///
    /// Called without the lock.
    @inline(never)
    private func tell(_ handler: consuming any FrameHandler) { handler.turnEnded(onLoop: true) }

    /// Called with the lock held.
    @inline(__always)
    private func begin(_ phase: Phase) {
        state.pointee.phase = phase
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
        begin(.work)
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
    /// Called with the lock held, which it releases. False: the thread leads no longer, and its successor writes the rest.
    private func flushDirtyAndUnlock(_ thread: UnsafeMutablePointer<LoopThread>) -> Bool {
        guard let first = state.pointee.dirty.popFirst() else {
            lock.unlock()
            return true
        }
        dirtyCount.store(state.pointee.dirty.count, ordering: .relaxed)
        begin(.none)
        let token = thread.pointee.token
        writer.store(token, ordering: .relaxed)
        lock.unlock()
        flush(first)
        // Only the leader adds some.
        while dirtyCount.load(ordering: .relaxed) > 0 {
            lock.lock()
            guard leads(thread), let next = state.pointee.dirty.popFirst() else {
                lock.unlock()
                break
            }
            dirtyCount.store(state.pointee.dirty.count, ordering: .relaxed)
            state.pointee.pieces &+= 1
            lock.unlock()
            flush(next)
        }
        if writer.compareExchange(expected: token, desired: 0, ordering: .relaxed).exchanged { return true }
        lock.lock()
        defer { lock.unlock() }
        guard leads(thread) else { return false }
        // The watchdog found nobody to take over.
        writer.store(0, ordering: .relaxed)
        return true
    }

    @inline(__always)
    private func flush(_ channel: consuming LoopChannel) {
        channel.isDirty.store(false, ordering: .relaxed)
        channel.flush()
    }

    /// Ends the turn: writes, waits for descriptors and reads.
    ///
    /// Called with the lock held, and so it returns; released in between. Returns whom to tell of a read, unless that stands
    /// in the queue. The thread may lead no longer then.
    private func pollAndUnlock(_ thread: UnsafeMutablePointer<LoopThread>) -> (any FrameHandler)? {
        let hasReady = !state.pointee.ready.isEmpty
        var wait = hasReady ? 0 : timeToWait()
        let spin = wait == 0 ? 0 : spinNanoseconds.load(ordering: .relaxed)
        let looksAgain = spin > 0 || state.pointee.isUntold
        // Whoever adds work from now on sees the flag and wakes the poller.
        state.pointee.sleeping = wait != 0 && spin == 0
        let leads = flushDirtyAndUnlock(thread)
        guard leads, !hasReady else {
            lock.lock()
            return self.leads(thread) ? deliverReady(thread) : nil
        }
        var found = Found.nothing
        if looksAgain { found = lookAgain(for: spin, &wait, thread) }
        var count: CInt = 0
        switch found {
        case .nothing: count = port_poller_wait(poller, turn.pointee.events, CInt(Turn.capacity), wait)
        case .events(let number): count = number
        case .told, .lost: break
        }
        lock.lock()
        if case .lost = found { return nil }
        state.pointee.sleeping = false
        if state.pointee.timers.earliest != nil {
            let now = monotonicNow()
            while let action = state.pointee.timers.popDue(now) { state.pointee.queue.append(.closure(action)) }
        }
        if case .told(let handler) = found { return handler }
        guard count > 0 else {
            if count < 0 { lookEverywhere(thread) }
            return nil
        }
        let event = turn.pointee.events[0]
        if count == 1, let channel = channel(of: event.token) {
            let told = read(channel, bits(of: event), thread)
            if spin > 0, told != nil, self.leads(thread) {
                let isSocket = self.channel(of: event.token)?._withUnsafeGuaranteedRef { $0.isSocket } ?? false
                setLastSource(isSocket ? event.token & ~Self.bellBit : 0, thread)
                if !self.leads(thread), let told { return handOver(told) }
            }
            return told
        }
        for index in 0..<Int(count) {
            if let handler = handler(of: turn.pointee.events[index].token) {
                state.pointee.ready.append((handler, bits(of: turn.pointee.events[index])))
            }
        }
        return deliverReady(thread)
    }

    /// Has a channel read, without a reference to it and to whatever it holds.
    ///
    /// Called with the lock held, and so it returns; released in between. Returns whom to tell, unless the thread has lost the
    /// leadership: then that stands in its successor's queue.
    @inline(__always)
    func read(
        _ channel: Unmanaged<LoopChannel>, _ bits: UInt32, _ thread: UnsafeMutablePointer<LoopThread>
    ) -> (any FrameHandler)? {
        begin(.reading)
        state.pointee.delivering = channel
        lock.unlock()
        let told = channel._withUnsafeGuaranteedRef { $0.ready(bits, readContext: thread.pointee.readContext) }
        lock.lock()
        guard leads(thread) else { return letGo(told, thread) }
        state.pointee.phase = .none
        state.pointee.delivering = nil
        if !state.pointee.removed.isEmpty { forgetRemoved() }
        return told
    }

    /// What a thread does that was held in a read and leads no longer.
    ///
    /// Called with the lock held, and so it returns; released in between.
    @inline(never)
    private func letGo(
        _ told: consuming (any FrameHandler)?, _ thread: UnsafeMutablePointer<LoopThread>
    ) -> (any FrameHandler)? {
        let channel = state.pointee.captured.removeValue(forKey: thread.pointee.token)
        if let told { _ = handOver(told) }
        lock.unlock()
        release(consume channel)
        lock.lock()
        return nil
    }

    /// Lets go of what may be the last reference, without the lock.
    @inline(never)
    private func release(_ channel: consuming LoopChannel?) { _ = consume channel }

    /// Gives the successor of a thread that leads no longer a turn to do.
    ///
    /// Called with the lock held.
    private func handOver(_ handler: consuming any FrameHandler) -> (any FrameHandler)? {
        state.pointee.queue.append(.turn(handler))
        if state.pointee.sleeping {
            state.pointee.sleeping = false
            port_poller_wake(poller)
        }
        return nil
    }

    /// Tells the sources that are ready, one at a time, so that a successor can go on with the rest.
    ///
    /// Called with the lock held, and so it returns; released in between. Whom to tell stands in the queue afterwards.
    private func deliverReady(_ thread: UnsafeMutablePointer<LoopThread>) -> (any FrameHandler)? {
        while !state.pointee.ready.isEmpty {
            let told = deliverNextAndUnlock(thread)
            lock.lock()
            guard leads(thread) else {
                if let told { _ = handOver(told) }
                return nil
            }
            state.pointee.phase = .none
            if let told { state.pointee.queue.append(.turn(told)) }
        }
        return nil
    }

    /// A function of its own, so that the source is let go of without the lock.
    @inline(never)
    private func deliverNextAndUnlock(_ thread: UnsafeMutablePointer<LoopThread>) -> (any FrameHandler)? {
        let next = state.pointee.ready.popFirst()
        begin(.reading)
        lock.unlock()
        guard let (handler, bits) = next else { return nil }
        return handler.ready(bits, readContext: thread.pointee.readContext)
    }

    /// The poller cannot be asked: somebody has closed its descriptor, as programs that close all of theirs do.
    ///
    /// Then every source is tried now and then, so that what is left goes on, if slowly, and what was closed, too, ends.
    ///
    /// Called with the lock held, and so it returns; released in between.
    @inline(never)
    private func lookEverywhere(_ thread: UnsafeMutablePointer<LoopThread>) {
        lock.unlock()
        var pause = timespec(tv_sec: 0, tv_nsec: 10_000_000)
        nanosleep(&pause, nil)
        lock.lock()
        let all = UInt32(PORT_READABLE) | UInt32(PORT_WRITABLE) | UInt32(PORT_HANG_UP)
        for bits in [all, UInt32(PORT_READABLE | PORT_BELL | PORT_POLLED)] {
            for index in state.pointee.sources.indices {
                if let handler = state.pointee.sources[index].handler { state.pointee.ready.append((handler, bits)) }
            }
        }
        _ = deliverReady(thread)
    }
}
