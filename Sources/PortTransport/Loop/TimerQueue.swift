/// Timers by deadline: a binary heap whose cancelled entries stay until they are the earliest or half of it.
struct TimerQueue: ~Copyable {
    private struct Entry {
        let deadline: UInt64
        let number: UInt64
    }

    private var heap: [Entry] = []
    private var actions: [UInt64: @Sendable () -> Void] = [:]
    private var lastNumber: UInt64 = 0

    /// The earliest deadline.
    var earliest: UInt64? { heap.first?.deadline }

    mutating func add(deadline: UInt64, _ action: @escaping @Sendable () -> Void) -> TimerToken {
        lastNumber += 1
        actions[lastNumber] = action
        heap.append(Entry(deadline: deadline, number: lastNumber))
        siftUp(heap.count - 1)
        return TimerToken(number: lastNumber)
    }

    /// Returns the action, so that what it holds is freed outside the caller's lock.
    mutating func cancel(_ token: TimerToken) -> (@Sendable () -> Void)? {
        guard let action = actions.removeValue(forKey: token.number) else { return nil }
        // Without a timer the loop asks no clock and sleeps without a time limit.
        while let first = heap.first, actions[first.number] == nil { removeFirst() }
        if heap.count > 64, heap.count > actions.count * 2 { rebuild() }
        return action
    }

    /// The next action whose time has come.
    mutating func popDue(_ now: UInt64) -> (@Sendable () -> Void)? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let action = actions.removeValue(forKey: first.number) { return action }
        }
        return nil
    }

    private static func before(_ a: Entry, _ b: Entry) -> Bool {
        a.deadline != b.deadline ? a.deadline < b.deadline : a.number < b.number
    }

    private mutating func rebuild() {
        heap = heap.filter { actions[$0.number] != nil }
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
    /// Whole nanoseconds, between 0 and what fits.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return .max }
        let (sum, carried) = product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return carried ? .max : sum
    }
}
