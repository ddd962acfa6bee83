/// Runs the handlers of channels, and the tasks that prefer this executor.
///
/// It is a task executor, not a serial one: when a job blocks, another thread goes on with the rest, so two jobs may
/// run at once. The isolation of actors does not depend on it.
package protocol PortLoop: TaskExecutor, AnyObject {
    /// Runs `work` on the loop, in order with its jobs; wakes it if it sleeps.
    func perform(_ work: @escaping @Sendable () -> Void)

    /// Like `perform`, for a job that `runner` runs.
    func enqueue(_ job: UnownedJob, by runner: any JobRunner)

    /// Whether the calling thread runs one of this loop's jobs or handlers.
    var isCurrent: Bool { get }

    /// The clock of its timers, in nanoseconds.
    var now: UInt64 { get }

    /// Runs `action` on the loop once `delay` is over. Costs one heap entry; the grain is a millisecond.
    func addTimer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerToken

    /// Drops the action. Does nothing if the timer has fired.
    func cancelTimer(_ token: TimerToken)

    /// Runs a piece of a channel's own work, in the channel's order.
    func schedule(_ work: ChannelWork, on channel: LoopChannel)

    /// Flushes `channel` at the end of this iteration; false if the calling thread is not in one.
    func flushAtEndOfIteration(_ channel: LoopChannel) -> Bool
}

/// An executor whose jobs a loop runs.
package protocol JobRunner: AnyObject, Sendable {
    /// Runs the job on the calling thread, which is the loop's.
    func run(_ job: UnownedJob)

    /// Whether `wentOn()` is called.
    static var isTold: Bool { get }

    /// Another thread has taken over the loop, because the job takes long.
    ///
    /// Called by that thread while the job runs, or just after it.
    func wentOn()
}

extension JobRunner {
    package static var isTold: Bool { false }
    package func wentOn() {}
}

/// The result of a wait in a job.
package enum WaitResult {
    /// The loop has other work, or the thread is not its leader: the job has to suspend.
    case refused
    /// The handler was given frames, and the caller has to notify it.
    case delivered
    /// Something else happened, or the loop notifies the handler from its queue.
    case over
}

/// A timer of a loop.
package struct TimerToken: Sendable, Hashable {
    let slot: UInt32
    let generation: UInt32
}

/// A piece of work that a loop does for a channel.
package enum ChannelWork: Sendable {
    /// Read the memory link.
    case read
    /// Notify the handler that the frames of a read are delivered, or that there is room.
    case notify
    /// Write what is queued.
    case flush
    /// Read what is left after a failed write, then end.
    case drain
    /// Deliver the end.
    case end
}

/// An event of a loop.
///
/// The hook for these events is called on a thread of the loop, or on the watchdog, and must not block.
package enum LoopEvent: Sendable {
    /// All threads that the loop may have are in jobs that do not return; nothing is read until one of them returns.
    case threadsExhausted(Int)
}
