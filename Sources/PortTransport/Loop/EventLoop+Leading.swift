internal import CPortShims
internal import Synchronization

extension EventLoop {
    /// Pieces of work between two polls.
    private static let piecesBetweenPolls = 256

    func startThreads(_ held: borrowing Held<State>) {
        // If the system has no thread now, the next work tries again.
        guard startThread(held) else { return }
        state.pointee.leader.call()
        let retained = Unmanaged.passRetained(self)
        let result = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().watch()
                return nil
            }, retained.toOpaque(), "distant-watch")
        if result != 0 { retained.release() }
    }

    /// Starts a thread that takes the lead once it is called; false if the system cannot start one.
    func startThread(_ held: borrowing Held<State>) -> Bool {
        let retained = Unmanaged.passRetained(self)
        let result = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, retained.toOpaque(), "distant-loop")
        guard result == 0 else {
            retained.release()
            return false
        }
        state.pointee.threads += 1
        return true
    }

    /// The life of a thread: it leads, loses the leadership, waits to lead again, and ends when that takes too long.
    private func work() {
        let thread = UnsafeMutablePointer<LoopThread>.allocate(capacity: 1)
        let readContext = UnsafeMutablePointer<ReadContext>.allocate(capacity: 1)
        readContext.initialize(to: ReadContext())
        thread.initialize(
            to: LoopThread(loop: Unmanaged.passUnretained(self).toOpaque(), token: 0, readContext: readContext))
        port_thread_set_record(thread)
        var held = lock.lock()
        while true {
            if state.pointee.leader.takeLead() {
                let token = state.pointee.token
                thread.pointee.token = token
                lead(token, thread, &held)
                continue
            }
            if state.pointee.stopped { break }
            state.pointee.waiting += 1
            let signalled = lock.wait(
                for: waitingThreads, held, until: monotonicNow() + 10_000_000_000)
            state.pointee.waiting -= 1
            if !signalled, state.pointee.leader != .called { break }
        }
        state.pointee.threads -= 1
        lock.unlock(held)
        port_thread_set_record(nil)
        thread.deinitialize(count: 1)
        thread.deallocate()
        readContext.deinitialize(count: 1)
        readContext.deallocate()
    }

    /// Runs iterations until the leadership is lost.
    private func lead(_ token: UInt64, _ thread: UnsafeMutablePointer<LoopThread>, _ held: inout Held<State>) {
        let executor = asUnownedTaskExecutor()
        // The output of the previous leader must not wait for the jobs of this one.
        _ = flushDirty(thread, unlocking: held)
        held = lock.lock()
        while state.pointee.token == token {
            let tick = ticks.load(ordering: .relaxed)
            var pieces = 0
            while pieces < Self.piecesBetweenPolls {
                if let kept = runNext(executor, unlocking: held) {
                    held = kept
                    break
                }
                held = lock.lock()
                pieces += 1
                guard state.pointee.token == token else { return }
                // An endless run of jobs must not keep the descriptors waiting.
                if ticks.load(ordering: .relaxed) != tick { break }
            }
            state.pointee.leader.endPiece()
            if state.pointee.stopped, state.pointee.queue.isEmpty, state.pointee.dirty.isEmpty,
                state.pointee.ready.isEmpty
            {
                return state.pointee.leader.leave()
            }
            guard let receiver = endIteration(thread, &held) else { continue }
            if state.pointee.queue.isEmpty {
                begin(.work, held)
                lock.unlock(held)
                notify(consume receiver)
                held = lock.lock()
            } else {
                state.pointee.queue.append(.notify(receiver))
            }
        }
    }

    /// Ends the iteration within a job: flushes `channel` and other dirty channels, waits for descriptors once, and
    /// reads.
    ///
    /// A job that waits for the next input need not be suspended and resumed then. Refused unless the calling thread
    /// leads and has nothing else to do.
    func waitInJob(for handler: any FrameHandler, flushing channel: LoopChannel) -> WaitResult {
        guard let thread = LoopThread.current, thread.pointee.belongs(to: self) else { return .refused }
        var held = lock.lock()
        let result = waitInJob(for: handler, flushing: channel, thread, &held)
        lock.unlock(held)
        return result
    }

    @inline(__always)
    private func waitInJob(
        for handler: any FrameHandler, flushing channel: LoopChannel, _ thread: UnsafeMutablePointer<LoopThread>,
        _ held: inout Held<State>
    ) -> WaitResult {
        guard leads(thread, held), state.pointee.queue.isEmpty, state.pointee.ready.isEmpty, !state.pointee.stopped
        else { return .refused }
        mark(channel, held)
        state.pointee.leader.endPiece()
        let receiver = endIteration(thread, &held)
        guard leads(thread, held) else { return .over }
        begin(.work, held)
        guard let receiver else { return .over }
        if receiver === handler { return .delivered }
        state.pointee.queue.append(.notify(receiver))
        return .over
    }

    @inline(__always)
    func leads(_ thread: UnsafeMutablePointer<LoopThread>, _ held: borrowing Held<State>) -> Bool {
        thread.pointee.token == state.pointee.token
    }

    /// Notifies a handler directly, instead of through the queue.
    @inline(never)
    private func notify(_ receiver: consuming any FrameHandler) { receiver.deliveryEnded(onLoop: true) }

    @inline(__always)
    func begin(_ piece: Leader.Piece, _ held: borrowing Held<State>) {
        state.pointee.leader.begin(piece)
        state.pointee.pieces &+= 1
        wakeWatchdog(held)
    }

    /// Runs the next piece of work in the queue.
    ///
    /// A separate function, so that what the work holds is freed, and user code in a `deinit` has run, before the lock
    /// is taken again.
    /// - Returns: The lock if the queue was empty; nil if work was run, and then the lock is released.
    @inline(never)
    private func runNext(_ executor: UnownedTaskExecutor, unlocking held: consuming Held<State>) -> Held<State>? {
        guard let work = state.pointee.queue.popFirst() else { return held }
        begin(.work, held)
        if case .runnerJob(_, let runner) = work, type(of: runner).isTold { state.pointee.told = runner }
        lock.unlock(held)
        switch consume work {
        case .job(let job): job.runSynchronously(on: executor)
        case .runnerJob(let job, let runner):
            runner.run(job)
            guard type(of: runner).isTold else { break }
            lock.withLock { _ in
                if state.pointee.told === runner { state.pointee.told = nil }
            }
        case .closure(let closure): closure()
        case .channel(let channel, let work): channel.perform(work)
        case .notify(let handler): handler.deliveryEnded(onLoop: true)
        }
        return nil
    }
}
