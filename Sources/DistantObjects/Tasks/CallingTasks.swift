/// Decides whether the thread of a task that calls waits for the answer briefly, or is left to other tasks.
///
/// To wait saves the task's suspension, but it keeps the thread, which belongs to a pool, from tasks that are ready to call.
/// They do not show in the calls that are open: with two threads that wait no more than two ever are. So from time to time
/// no thread waits for a round, which is over when a task calls for the second time in it. The tasks that have called by
/// then are counted. If they are many, their calls had better be sent and answered together.
struct CallingTasks {
    private enum Phase {
        /// A round, in which so many tasks have called.
        case round(UInt8)
        /// After a round of few tasks; so many calls before the next one.
        case few(UInt16)
        /// The same after a round of many tasks.
        case many(UInt16)
    }

    static let callsBetweenRounds: UInt16 = 1_024

    private var phase = Phase.round(0)
    /// The tasks that have called in the round: the low parts of their addresses, without the bits that are always zero.
    private var tasks = SIMD8<UInt32>(repeating: 0)

    /// Whether a round has just ended in which many tasks have called.
    var endedAsMany: Bool { if case .many(Self.callsBetweenRounds) = phase { true } else { false } }

    /// Whether the thread of a call may wait; counts the call.
    ///
    /// - Parameters:
    ///   - open: The calls that are open, with this one.
    ///   - task: The address of the calling task.
    @inline(__always)
    mutating func mayWait(open: UInt32, task: @autoclosure () -> UInt) -> Bool {
        guard case .few(let left) = phase, left > 0 else {
            return mayWaitOtherwise(open, UInt32(truncatingIfNeeded: task() >> 4))
        }
        phase = .few(left - 1)
        return isFew(open)
    }

    @inline(never)
    private mutating func mayWaitOtherwise(_ open: UInt32, _ task: UInt32) -> Bool {
        switch phase {
        case .many(let left) where left > 0:
            phase = .many(left - 1)
            return false
        case .few, .many:
            phase = .round(1)
            tasks[0] = task
            return false
        case .round(let count):
            if (0..<Int(count)).contains(where: { tasks[$0] == task }) {
                phase = .few(Self.callsBetweenRounds)
                return isFew(open)
            }
            guard count < tasks.scalarCount else {
                phase = .many(Self.callsBetweenRounds)
                return false
            }
            tasks[Int(count)] = task
            phase = .round(count + 1)
            return false
        }
    }

    /// Whether so few calls are open that a thread may wait although the round was of few tasks.
    private func isFew(_ open: UInt32) -> Bool { open <= tasks.scalarCount }
}
