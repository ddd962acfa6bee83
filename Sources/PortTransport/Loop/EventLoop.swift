internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The loop of a process: one thread at a time, the *leader*, polls descriptors and runs jobs and handlers.
///
/// A job may block or compute as long as it likes, and a peer can have the kernel hold a thread that reads or writes.
/// So a watchdog, which ticks only while the loop is busy, makes another thread the leader when the leader is held. The
/// old leader finishes its job, read or write, finds that it has lost the leadership, and retires. Until then it uses
/// its own channel and nothing else of the loop. Everything else lies in `State`, under one lock: the run queue, from
/// which work is taken piece by piece, timers, channels to flush, and sources that are ready.
///
/// After `fork` without `exec` the child's copy is dead: it forwards work to the child's own `shared` loop and touches
/// no descriptor.
package final class EventLoop: PortLoop, @unchecked Sendable {
    // `lock` protects what `state` points to, except for what its comments say.

    package struct Configuration: Sendable {
        /// Whether the loop, and blocking readers of its channels, poll before they sleep.
        package var polling: PollingMode
        /// The most threads, those in blocked jobs included.
        package var maximumThreads: Int
        /// How long a job may run before another thread takes over.
        package var takeover: Duration
        package var onEvent: (@Sendable (LoopEvent) -> Void)?

        package init(
            polling: PollingMode = .adaptive, maximumThreads: Int = 64, takeover: Duration = .milliseconds(1),
            onEvent: (@Sendable (LoopEvent) -> Void)? = nil
        ) {
            self.polling = polling
            self.maximumThreads = maximumThreads
            self.takeover = takeover
            self.onEvent = onEvent
        }
    }

    enum Work {
        case job(UnownedJob)
        case runnerJob(UnownedJob, any JobRunner)
        case closure(@Sendable () -> Void)
        case channel(LoopChannel, ChannelWork)
        /// Notifies a handler that the frames of a read are delivered.
        case notify(any FrameHandler)
    }

    struct Source {
        var handler: (any PollHandler)?
        /// The handler as a channel, if it is one.
        var channel: Unmanaged<LoopChannel>?
        var generation: UInt32
    }

    struct State: ~Copyable {
        var queue = Ring<Work>()
        var timers = TimerQueue()
        var sources: [Source] = []
        var freeSources: [Int] = []
        /// The processes whose end is watched, by number.
        var peers: [Int32: PeerProcess] = [:]
        /// Identifies the leadership: a thread with another token must not touch the loop's iteration.
        var token: UInt64 = 1
        var leader = Leader.missing
        /// The runner of the job that the leader runs, if it is told when another thread takes over.
        var told: (any JobRunner)?
        /// Counts the pieces of work, reads and writes that the leader begins.
        var pieces: UInt64 = 0
        /// Sources that the poller reported and that were not called yet, with the reported bits.
        var ready = Ring<(any PollHandler, UInt32)>()
        /// Channels to flush.
        var dirty = Ring<LoopChannel>()
        var lastSource = LastSource.none
        /// Whether the threads end once the loop has no work.
        var stopped = false
        var threads = 0
        /// The threads that have lost the leadership and wait to lead again.
        var waiting = 0
        var supply = ThreadSupply.enough
        var watchdog = Watchdog.ticking
        /// Channels whose input is reserved for blocking readers, until the watchdog gives it back to the loop.
        var reserved: [LoopChannel] = []
        /// The channel that the leader reads, kept only by `sources`, or by `removed` if it is removed meanwhile.
        var delivering: Unmanaged<LoopChannel>?
        /// The channels of threads that lost the leadership during a read, by the token that the thread had.
        var captured: [UInt64: LoopChannel] = [:]
        var removed: [any PollHandler] = []
        var onEvent: (@Sendable (LoopEvent) -> Void)?

        init(_ configuration: Configuration) {
            onEvent = configuration.onEvent
        }
    }

    /// State that only the leader touches, at times when it cannot lose the leadership.
    struct Iteration: ~Copyable {
        let events = UnsafeMutablePointer<port_event>.allocate(capacity: Iteration.capacity)
        /// Decides whether the leader polls before it sleeps.
        var policy = PollingPolicy()
        /// Polls that began with the channel read last, since the poller was last asked.
        var unasked = 0
        /// The watchdog's ticks when the poller was last asked.
        var tick: UInt64 = 0

        /// Events of one poll.
        static let capacity = 64

        deinit { events.deallocate() }
    }

    let lock = StateLock<State>()
    let iteration: UnsafeMutablePointer<Iteration>
    /// The token of a leader that writes; 0 if none does.
    ///
    /// Set under the lock. The leader clears it without the lock after the write, unless the watchdog has cleared it
    /// first, which then makes another thread the leader.
    let writer = Atomic<UInt64>(0)
    /// How many channels are dirty, for the leader to see without the lock.
    let dirtyCount = Atomic<Int>(0)
    let waitingThreads = Condition()
    let watchdogRest = Condition()
    let state: UnsafeMutablePointer<State>
    let poller: UnsafeMutablePointer<port_poller>
    let forkCount: UInt32
    let maximumThreads: Int
    let takeoverNanoseconds: UInt64
    /// The code of the `PollingMode`.
    let polling: UInt64
    /// Set for a leader that polls, so that it looks at its state again.
    let hasNews = Atomic<Bool>(false)
    /// Counts the watchdog's ticks.
    ///
    /// A leader that sees a new tick has run jobs for a while, and polls.
    let ticks = Atomic<UInt64>(0)

    package init(configuration: Configuration = Configuration()) throws(TransportError) {
        poller = .allocate(capacity: 1)
        poller.initialize(to: port_poller())
        guard port_poller_open(poller) >= 0 else {
            let number = errno
            poller.deallocate()
            throw .system("opening a poller", number)
        }
        state = .allocate(capacity: 1)
        state.initialize(to: State(configuration))
        iteration = .allocate(capacity: 1)
        iteration.initialize(to: Iteration())
        forkCount = port_fork_count()
        polling = configuration.polling.code
        maximumThreads = max(2, configuration.maximumThreads)
        takeoverNanoseconds = max(100_000, configuration.takeover.nanoseconds)
    }

    deinit {
        // Threads hold a reference to the loop, so none runs any more. A forked child must not change the parent's
        // poller.
        if isAlive { port_poller_close(poller) }
        poller.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
        iteration.deinitialize(count: 1)
        iteration.deallocate()
        lock.destroy()
        waitingThreads.destroy()
        watchdogRest.destroy()
    }

    /// False in a forked child: the loop is its parent's.
    package var isAlive: Bool { port_fork_count() == forkCount }

    package var isCurrent: Bool { LoopThread.isCurrent(self) }

    /// Whether the calling thread is one of any loop.
    package static var isOnThread: Bool { LoopThread.current != nil }

    package func setEventHook(_ hook: (@Sendable (LoopEvent) -> Void)?) {
        lock.withLock { state.pointee.onEvent = hook }
    }

    func report(_ event: LoopEvent) {
        lock.withLock { state.pointee.onEvent }?(event)
    }

    /// The threads the loop has, blocked and waiting ones included; the watchdog is not counted.
    package var threadCount: Int { lock.withLock { state.pointee.threads } }

    // MARK: Work

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    package func enqueue(_ job: UnownedJob, by runner: any JobRunner) {
        add(.runnerJob(job, runner))
    }

    package func perform(_ work: @escaping @Sendable () -> Void) {
        add(.closure(work))
    }

    package func schedule(_ work: ChannelWork, on channel: LoopChannel) {
        add(.channel(channel, work))
    }

    private func add(_ work: consuming Work) {
        guard isAlive else { return forward(work) }
        let held = lock.lock()
        if state.pointee.stopped {
            lock.unlock(held)
            return forward(work)
        }
        state.pointee.queue.append(work)
        wake(unlocking: held)
    }

    /// Passes work on from a loop that no longer runs, so that the callers that wait for it go on.
    private func forward(_ work: consuming Work) {
        switch work {
        case .job(let job): EventLoop.shared.enqueue(ExecutorJob(job))
        case .runnerJob(let job, let runner): EventLoop.shared.enqueue(job, by: runner)
        case .closure(let closure): EventLoop.shared.perform(closure)
        // Channels of the parent, or of a stopped loop, are not touched.
        case .channel, .notify: break
        }
    }

    /// Has the leader look at its state again, and starts it if there is none.
    func wake(unlocking held: consuming Held<State>) {
        switch state.pointee.leader.hear() {
        case .none:
            lock.unlock(held)
        case .news:
            hasNews.store(true, ordering: .relaxed)
            lock.unlock(held)
        case .wake:
            lock.unlock(held)
            port_poller_wake(poller)
        case .start:
            startThreads(held)
            lock.unlock(held)
        }
    }

    package func flushAtEndOfIteration(_ channel: LoopChannel) -> Bool {
        guard let thread = LoopThread.current, thread.pointee.belongs(to: self) else { return false }
        if channel.isDirty.load(ordering: .relaxed) { return true }
        return lock.withLock { held in
            // A thread that lost the leadership no longer has an iteration.
            guard leads(thread, held) else { return false }
            mark(channel, held)
            return true
        }
    }

    func mark(_ channel: LoopChannel, _ held: borrowing Held<State>) {
        guard !channel.isDirty.load(ordering: .relaxed) else { return }
        channel.isDirty.store(true, ordering: .relaxed)
        state.pointee.dirty.append(channel)
        dirtyCount.store(state.pointee.dirty.count, ordering: .relaxed)
    }

    // MARK: Timers

    package var now: UInt64 { monotonicNow() }

    package func addTimer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerToken {
        guard isAlive else { return EventLoop.shared.addTimer(after: delay, action) }
        let (sum, overflow) = monotonicNow().addingReportingOverflow(delay.nanoseconds)
        let deadline = overflow ? UInt64.max : sum
        let held = lock.lock()
        let earliest = state.pointee.timers.earliest
        let token = state.pointee.timers.add(deadline: deadline, action)
        // A later timer is seen when the loop wakes for the earlier one.
        if let earliest, earliest <= deadline { lock.unlock(held) } else { wake(unlocking: held) }
        return token
    }

    package func cancelTimer(_ token: TimerToken) {
        guard isAlive else { return }
        let action = lock.withLock { state.pointee.timers.cancel(token) }
        withExtendedLifetime(action) {}
    }

    /// Ends the loop's threads once the work queued now has run; for tests that make their own loops.
    package func stop() {
        guard isAlive else { return }
        let held = lock.lock()
        state.pointee.stopped = true
        waitingThreads.broadcast()
        watchdogRest.broadcast()
        wake(unlocking: held)
    }
}
