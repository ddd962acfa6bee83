internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension EventLoop {
    /// Writes what was enqueued in this iteration.
    ///
    /// - Returns: False if the thread no longer leads; its successor writes the rest.
    func flushDirty(
        _ thread: UnsafeMutablePointer<LoopThread>, unlocking held: consuming Held<State>
    ) -> Bool {
        guard let first = state.pointee.dirty.popFirst() else {
            lock.unlock(held)
            return true
        }
        dirtyCount.store(state.pointee.dirty.count, ordering: .relaxed)
        begin(.write, held)
        let token = thread.pointee.token
        writer.store(token, ordering: .relaxed)
        lock.unlock(held)
        flush(first)
        // Only the leader marks channels as dirty.
        while dirtyCount.load(ordering: .relaxed) > 0 {
            let held = lock.lock()
            guard leads(thread, held), let next = state.pointee.dirty.popFirst() else {
                lock.unlock(held)
                break
            }
            dirtyCount.store(state.pointee.dirty.count, ordering: .relaxed)
            state.pointee.pieces &+= 1
            lock.unlock(held)
            flush(next)
        }
        if writer.compareExchange(expected: token, desired: 0, ordering: .relaxed).exchanged { return true }
        return lock.withLock { held in
            guard leads(thread, held) else { return false }
            // The watchdog found no thread to take over.
            writer.store(0, ordering: .relaxed)
            return true
        }
    }

    @inline(__always)
    private func flush(_ channel: consuming LoopChannel) {
        channel.isDirty.store(false, ordering: .relaxed)
        channel.flush()
    }

    /// The plan for the rest of an iteration, once its jobs are done.
    private struct Preparation {
        enum Next {
            case poll
            /// An earlier poll has left sources that are ready.
            case deliverReady
            /// Another thread leads.
            case stop
        }

        var next: Next
        /// How long the loop may sleep, in nanoseconds; negative for no limit.
        var wait: Int64
        /// The poll before the sleep.
        var spinning: Spinning?
        /// The memory that the channel read last shares with its peer, if any.
        var memory: RingPeek?
        var isUnarmed: Bool
    }

    /// The result of a poll.
    enum Found {
        /// The number of events, or an error below 0.
        case events(CInt)
        /// A channel was read without asking the poller.
        case frames(for: any FrameHandler)
        /// The memory shared by the channel read last has changed.
        case lastSource
        /// Sources that an earlier poll has left.
        case ready
        /// Another thread leads.
        case lost
    }

    /// Ends the iteration: writes, waits for descriptors and reads.
    ///
    /// - Returns: The handler that got frames, unless the queue has it. The thread may no longer lead afterwards.
    @inline(__always)
    func endIteration(
        _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        let preparation = prepare(thread, unlocking: held)
        let found = poll(preparation, thread)
        held = lock.lock()
        return deliver(found, spins: preparation.spinning != nil, thread, &held)
    }

    /// Decides how long the loop may sleep, and writes what was enqueued.
    @inline(__always)
    private func prepare(
        _ thread: UnsafeMutablePointer<LoopThread>, unlocking held: consuming Held<State>
    ) -> Preparation {
        let hasReady = !state.pointee.ready.isEmpty
        let wait = hasReady ? 0 : timeToWait(held)
        let spinning =
            wait == 0
            ? nil
            : Spinning(
                polling, &iteration.pointee.policy, wait: wait,
                isInTheWay: isPollInTheWay(held))
        let memory = spinning == nil ? nil : lastMemory(held)
        let isUnarmed = state.pointee.lastSource.isUnarmed
        // A thread that adds work from now on sees this. It wakes the poller or sets `hasNews` accordingly.
        state.pointee.leader.attend(spinning != nil ? .looking : wait != 0 ? .sleeping : .awake)
        if spinning != nil { hasNews.store(false, ordering: .relaxed) }
        let leads = flushDirty(thread, unlocking: held)
        return Preparation(
            next: !leads ? .stop : hasReady ? .deliverReady : .poll, wait: wait, spinning: spinning, memory: memory,
            isUnarmed: isUnarmed)
    }

    /// Waits for descriptors.
    @inline(__always)
    private func poll(_ preparation: Preparation, _ thread: UnsafeMutablePointer<LoopThread>) -> Found {
        switch preparation.next {
        case .stop:
            // The successor uses the iteration and its policy now.
            preparation.spinning?.giveUp()
            preparation.memory?.letGo()
            return .lost
        case .deliverReady: return .ready
        case .poll: break
        }
        var wait = preparation.wait
        if let spinning = preparation.spinning {
            if let found = look(spinning, preparation.memory, &wait, thread) { return found }
        } else {
            Processors.lookIfDue()
            if preparation.isUnarmed, let found = arm(thread) { return found }
        }
        return .events(port_poller_wait(poller, iteration.pointee.events, CInt(Iteration.capacity), wait))
    }

    /// Reads the sources that are ready, and puts the timers that are due into the queue.
    @inline(__always)
    private func deliver(
        _ found: consuming Found, spins: Bool, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        switch found {
        case .lost: return nil
        case .ready: return leads(thread, held) ? deliverReady(thread, &held) : nil
        case .frames(let receiver):
            stopSleeping(held)
            return receiver
        case .lastSource:
            stopSleeping(held)
            thread.pointee.readContext.pointee.hasContent = false
            let receiver = readLastSource(thread, bits: UInt32(PORT_POLLED), &held)
            if !thread.pointee.readContext.pointee.hasContent, leads(thread, held) {
                iteration.pointee.policy.foundNothing()
            }
            return receiver
        case .events(let count):
            stopSleeping(held)
            if count == 1 { return deliverOne(spins: spins, thread, &held) }
            return deliverAll(count, thread, &held)
        }
    }

    @inline(__always)
    private func stopSleeping(_ held: borrowing Held<State>) {
        state.pointee.leader.attend(.awake)
        guard state.pointee.timers.earliest != nil else { return }
        let now = monotonicNow()
        while let action = state.pointee.timers.popDue(now) { state.pointee.queue.append(.closure(action)) }
    }

    @inline(__always)
    private func deliverOne(
        spins: Bool, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        let event = iteration.pointee.events[0]
        guard let channel = channel(of: event.token, held) else { return deliverAll(1, thread, &held) }
        let receiver = read(channel, bits(of: event), thread, &held)
        if spins, receiver != nil, leads(thread, held) {
            let isSocket = self.channel(of: event.token, held)?._withUnsafeGuaranteedRef { $0.isSocket } ?? false
            setLastSource(isSocket ? event.token & ~Self.doorbellBit : nil, thread, &held)
            if !leads(thread, held), let receiver {
                handOver(receiver, held)
                return nil
            }
        }
        return receiver
    }

    private func deliverAll(
        _ count: CInt, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        guard count > 0 else {
            if count < 0 { lookEverywhere(thread, &held) }
            return nil
        }
        for index in 0..<Int(count) {
            if let handler = handler(of: iteration.pointee.events[index].token, held) {
                state.pointee.ready.append((handler, bits(of: iteration.pointee.events[index])))
            }
        }
        return deliverReady(thread, &held)
    }

    /// Calls a channel's `ready` without retaining the channel.
    ///
    /// Meanwhile `sources` keeps it, or `removed` or `captured` if it is removed.
    /// - Returns: The handler that got frames; nil if the thread has lost the leadership, because then its successor's
    ///   queue has the handler.
    @inline(__always)
    func read(
        _ channel: Unmanaged<LoopChannel>, _ bits: UInt32, _ thread: UnsafeMutablePointer<LoopThread>,
        _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        begin(.read, held)
        state.pointee.delivering = channel
        lock.unlock(held)
        let receiver = channel._withUnsafeGuaranteedRef { $0.ready(bits, readContext: thread.pointee.readContext) }
        held = lock.lock()
        guard leads(thread, held) else { return letGo(receiver, thread, &held) }
        state.pointee.leader.endPiece()
        state.pointee.delivering = nil
        if !state.pointee.removed.isEmpty { forgetRemoved(&held) }
        return receiver
    }

    /// Hands the frames over and releases the channel, for a thread that lost the leadership during a read.
    @inline(never)
    private func letGo(
        _ receiver: consuming (any FrameHandler)?, _ thread: UnsafeMutablePointer<LoopThread>,
        _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        let channel = state.pointee.captured.removeValue(forKey: thread.pointee.token)
        if let receiver { handOver(receiver, held) }
        lock.unlock(held)
        release(consume channel)
        held = lock.lock()
        return nil
    }

    /// Releases a reference that may be the last one, without the lock.
    @inline(never)
    private func release(_ channel: consuming LoopChannel?) { _ = consume channel }

    /// Has the successor of a thread that lost the leadership notify a handler.
    private func handOver(_ receiver: consuming any FrameHandler, _ held: borrowing Held<State>) {
        state.pointee.queue.append(.notify(receiver))
        switch state.pointee.leader.hear() {
        case .wake: port_poller_wake(poller)
        case .news: hasNews.store(true, ordering: .relaxed)
        case .start, .none: break
        }
    }

    /// Calls the sources that are ready, one at a time, so that a successor can go on with the rest.
    ///
    /// Handlers that got frames are put into the queue.
    private func deliverReady(
        _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>
    ) -> (any FrameHandler)? {
        while !state.pointee.ready.isEmpty {
            let receiver = deliverNext(thread, unlocking: held)
            held = lock.lock()
            guard leads(thread, held) else {
                if let receiver { handOver(receiver, held) }
                return nil
            }
            state.pointee.leader.endPiece()
            if let receiver { state.pointee.queue.append(.notify(receiver)) }
        }
        return nil
    }

    /// Calls the next source that is ready.
    ///
    /// A separate function, so that the source is released without the lock.
    @inline(never)
    private func deliverNext(
        _ thread: UnsafeMutablePointer<LoopThread>, unlocking held: consuming Held<State>
    ) -> (any FrameHandler)? {
        let next = state.pointee.ready.popFirst()
        begin(.read, held)
        lock.unlock(held)
        guard let (handler, bits) = next else { return nil }
        return handler.ready(bits, readContext: thread.pointee.readContext)
    }

    /// Tries every source, for a poller whose descriptor something has closed, as programs that close all of their
    /// descriptors do.
    ///
    /// Sources that still work go on, slowly. Sources whose descriptor was closed too find out and end.
    @inline(never)
    private func lookEverywhere(_ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>) {
        lock.unlocked(&held) {
            var pause = timespec(tv_sec: 0, tv_nsec: 10_000_000)
            nanosleep(&pause, nil)
        }
        let all = UInt32(PORT_READABLE) | UInt32(PORT_WRITABLE) | UInt32(PORT_HANG_UP)
        for bits in [all, UInt32(PORT_READABLE | PORT_DOORBELL | PORT_POLLED)] {
            for index in state.pointee.sources.indices {
                if let handler = state.pointee.sources[index].handler { state.pointee.ready.append((handler, bits)) }
            }
        }
        _ = deliverReady(thread, &held)
    }
}
