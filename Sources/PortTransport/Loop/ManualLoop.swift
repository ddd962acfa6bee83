internal import CPortShims
internal import Synchronization

/// A loop that runs only when it is called, on the calling thread, with a clock that only `advance` moves.
///
/// It has a queue for jobs and one for each channel. Within a queue order is kept. Which queue goes next is drawn from
/// the seed (nil: always the queue that waits longest), so a run is the same each time for the same seed.
package final class ManualLoop: PortLoop, @unchecked Sendable {  // `lock` protects everything below it.
    private enum Work {
        case job(UnownedJob)
        case runnerJob(UnownedJob, any JobRunner)
        case closure(@Sendable () -> Void)
        case channel(LoopChannel, ChannelWork)
    }

    private struct WorkQueue {
        let key: ObjectIdentifier?
        var work: [Work] = []
    }

    private let lock = Lock()
    private var queues: [WorkQueue] = []
    private var random: SeededGenerator?
    private var timers = TimerQueue()
    private var time: UInt64 = 0
    private var dirty: [LoopChannel] = []

    package init(seed: UInt64? = nil) { random = seed.map { SeededGenerator(seed: $0) } }

    deinit { lock.destroy() }

    /// The virtual clock, in nanoseconds since the loop was made.
    package var now: UInt64 { lock.withLock { time } }

    package var isCurrent: Bool { LoopThread.isCurrent(self) }

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job)), nil) }

    package func enqueue(_ job: UnownedJob, by runner: any JobRunner) { add(.runnerJob(job, runner), nil) }

    package func perform(_ work: @escaping @Sendable () -> Void) { add(.closure(work), nil) }

    package func schedule(_ work: ChannelWork, on channel: LoopChannel) {
        add(.channel(channel, work), ObjectIdentifier(channel))
    }

    private func add(_ work: Work, _ key: ObjectIdentifier?) {
        lock.withLock {
            // A queue is removed when it is empty, so the first in the list has waited longest.
            if let index = queues.firstIndex(where: { $0.key == key }) {
                queues[index].work.append(work)
            } else {
                queues.append(WorkQueue(key: key, work: [work]))
            }
        }
    }

    package func flushAtEndOfIteration(_ channel: LoopChannel) -> Bool {
        guard isCurrent else { return false }
        lock.withLock {
            guard !channel.isDirty.load(ordering: .relaxed) else { return }
            channel.isDirty.store(true, ordering: .relaxed)
            dirty.append(channel)
        }
        return true
    }

    package func addTimer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerToken {
        lock.withLock { timers.add(deadline: time + min(delay.nanoseconds, .max - time), action) }
    }

    package func cancelTimer(_ token: TimerToken) {
        _ = lock.withLock { timers.cancel(token) }
    }

    /// Runs one piece of work and flushes what it enqueued; false if there is none.
    package func runOne() -> Bool {
        guard let work = next() else { return false }
        let previous = port_thread_record()
        ReadContext.withTemporary { context in
            var thread = LoopThread(
                loop: Unmanaged.passUnretained(self).toOpaque(), token: 0, readContext: context)
            withUnsafeMutablePointer(to: &thread) { run(work, $0) }
        }
        port_thread_set_record(previous)
        return true
    }

    private func run(_ work: Work, _ thread: UnsafeMutablePointer<LoopThread>) {
        port_thread_set_record(thread)
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
        case .runnerJob(let job, let runner): runner.run(job)
        case .closure(let closure): closure()
        case .channel(let channel, let work): channel.perform(work)
        }
        while let channel = lock.withLock({ dirty.popLast() }) {
            lock.withLock { channel.isDirty.store(false, ordering: .relaxed) }
            channel.flush()
        }
    }

    /// Runs until there is no work; timers whose time has not come stay.
    package func runUntilIdle() {
        while runOne() {}
    }

    /// Moves the clock, and runs each timer at its deadline.
    package func advance(by duration: Duration) {
        let end = lock.withLock { time + min(duration.nanoseconds, .max - time) }
        while true {
            runUntilIdle()
            let action = lock.withLock { () -> (@Sendable () -> Void)? in
                guard let earliest = timers.earliest, earliest <= end else { return nil }
                time = max(time, earliest)
                // A cancelled timer has no action left.
                return timers.popDue(time) ?? {}
            }
            guard let action else { break }
            perform(action)
        }
        lock.withLock { time = end }
    }

    private func next() -> Work? {
        lock.withLock {
            guard !queues.isEmpty else { return nil }
            let index = random?.below(queues.count) ?? 0
            let work = queues[index].work.removeFirst()
            if queues[index].work.isEmpty {
                queues.remove(at: index)
            } else if random == nil {
                queues.append(queues.remove(at: index))
            }
            return work
        }
    }
}
