/// The place of the one plain thread that reads for a channel, under the channel's gate.
struct DriverSeat: ~Copyable {
    /// A thread reads; the loop does not.
    var isTaken = false
    /// Threads that follow each other at once: the loop's interest stays off between them for a tick of the watchdog.
    var streak = 0
    var enteredAt: UInt64 = 0
    /// The watchdog will give reading back to the loop unless a thread takes the seat.
    var lingers = false
    /// What the next thread of a row needs, left by the last.
    var tools: DriverTools?
    /// Threads that wait for the seat or for their condition.
    var waiting = 0
    /// Wakes the thread in the seat, while it waits in the kernel and holds them.
    var sleeping: Unmanaged<DriverTools>?
    /// The same, where memory is shared.
    var awaitingAnswer: Unmanaged<SharedPath>?
    /// Made when first needed: most channels are never driven.
    private var condition: Condition?

    init() {}

    mutating func signal() {
        sleeping?._withUnsafeGuaranteedRef { $0.wake() }
        awaitingAnswer?._withUnsafeGuaranteedRef { $0.endWait() }
        condition?.broadcast()
    }

    /// Waits for a signal with `gate` released; false at the deadline.
    mutating func wait(_ gate: Lock, until deadline: UInt64?) -> Bool {
        if let condition { return condition.wait(gate, until: deadline) }
        let made = Condition()
        condition = made
        return made.wait(gate, until: deadline)
    }

    mutating func destroy() {
        condition?.destroy()
        condition = nil
        tools = nil
    }
}
