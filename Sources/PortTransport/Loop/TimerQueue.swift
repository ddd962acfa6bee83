/// Timers ordered by deadline, in a binary heap.
///
/// Cancelled entries stay in the heap until they are the earliest, or until they are half of the heap. The actions are
/// in slots and not in a dictionary, because the first use of a dictionary type costs a search of conformances when a
/// program starts.
struct TimerQueue: ~Copyable {
    private struct Entry {
        let deadline: UInt64
        /// Timers with the same deadline fire in the order in which they were added.
        let order: UInt64
        let token: TimerToken
    }

    private struct Slot {
        /// Grows each time the slot is used, so that an old token does not find a later timer.
        var generation: UInt32 = 0
        var action: (@Sendable () -> Void)?
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var added: UInt64 = 0

    /// The earliest deadline.
    var earliest: UInt64? { heap.first?.deadline }

    mutating func add(deadline: UInt64, _ action: @escaping @Sendable () -> Void) -> TimerToken {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = Int(free)
        } else {
            slot = slots.count
            slots.append(Slot())
        }
        slots[slot].action = action
        let token = TimerToken(slot: UInt32(slot), generation: slots[slot].generation)
        added += 1
        heap.append(Entry(deadline: deadline, order: added, token: token))
        siftUp(heap.count - 1)
        return token
    }

    /// Returns the action, so that what it holds is freed outside the caller's lock.
    mutating func cancel(_ token: TimerToken) -> (@Sendable () -> Void)? {
        guard let action = take(token) else { return nil }
        // Without a timer the loop asks no clock and sleeps without a time limit.
        while let first = heap.first, !isLive(first.token) { removeFirst() }
        if heap.count > 64, heap.count > (slots.count - freeSlots.count) * 2 { rebuild() }
        return action
    }

    /// The next action whose time has come.
    mutating func popDue(_ now: UInt64) -> (@Sendable () -> Void)? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let action = take(first.token) { return action }
        }
        return nil
    }

    private func isLive(_ token: TimerToken) -> Bool { slots[Int(token.slot)].generation == token.generation }

    /// Takes the timer's action and frees its slot; nil if the timer has fired or was cancelled.
    private mutating func take(_ token: TimerToken) -> (@Sendable () -> Void)? {
        guard isLive(token) else { return nil }
        slots[Int(token.slot)].generation &+= 1
        freeSlots.append(token.slot)
        return slots[Int(token.slot)].action.take()
    }

    private static func before(_ a: Entry, _ b: Entry) -> Bool {
        a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order
    }

    private mutating func rebuild() {
        heap = heap.filter { isLive($0.token) }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        if !heap.isEmpty { siftDown(0) }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard Self.before(heap[index], heap[parent]) else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if Self.before(heap[child], heap[least]) { least = child }
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}

extension Duration {
    /// Whole nanoseconds; 0 for a negative duration, the largest number for one that does not fit.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return .max }
        let (sum, carried) = product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return carried ? .max : sum
    }
}
