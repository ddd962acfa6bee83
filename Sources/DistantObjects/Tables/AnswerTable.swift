/// The peer's calls that have not had their `Return`, by the number the peer gave them.
struct AnswerTable<RunningCall> {
    enum Entry {
        case free
        /// Entered, not started.
        case waiting(isCancelled: Bool)
        /// Started, and no task runs it: the method is synchronous, or its task is not made yet.
        case started(isCancelled: Bool)
        /// Runs in a task.
        case running(RunningCall)
        /// Returned, and kept until a `Drop`.
        case kept
    }

    private var entries: [Entry] = []
    /// Calls under way whose answers the peer has dropped before they were sent.
    private var dropped: Set<UInt32> = []
    private let limit: Int

    /// Calls entered and not returned.
    private(set) var count = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func enter(_ index: UInt32) throws(ProtocolViolation) {
        guard Int(index) < limit else {
            throw ProtocolViolation(.overLimit, "a question's number is not below the \(limit) granted")
        }
        while entries.count <= Int(index) { entries.append(.free) }
        guard case .free = entries[Int(index)] else {
            throw ProtocolViolation(.outOfStep, "a question's number is used again before its Return")
        }
        entries[Int(index)] = .waiting(isCancelled: false)
        count += 1
    }

    /// Marks a call as started.
    ///
    /// - Returns: Whether the peer has cancelled it already.
    mutating func start(_ index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .waiting(let isCancelled) = entries[Int(index)] else { return false }
        entries[Int(index)] = .started(isCancelled: isCancelled)
        return isCancelled
    }

    /// Gives a started call the task that can be cancelled.
    ///
    /// - Returns: Whether it is to be cancelled at once: the peer has cancelled the call meanwhile, or is gone.
    mutating func attach(_ call: RunningCall, to index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .started(let isCancelled) = entries[Int(index)] else { return true }
        entries[Int(index)] = .running(call)
        return isCancelled
    }

    /// - Returns: The task to cancel, outside the lock.
    mutating func cancel(_ index: UInt32) throws(ProtocolViolation) -> RunningCall? {
        guard Int(index) < entries.count else {
            throw ProtocolViolation(.unknownName, "a Cancel names a question that was never asked")
        }
        switch entries[Int(index)] {
        case .waiting:
            entries[Int(index)] = .waiting(isCancelled: true)
            return nil
        case .started:
            entries[Int(index)] = .started(isCancelled: true)
            return nil
        case .running(let call):
            return call
        case .free, .kept:
            // It crossed the Return on the way.
            return nil
        }
    }

    mutating func drop(_ index: UInt32) throws(ProtocolViolation) {
        guard Int(index) < entries.count else {
            throw ProtocolViolation(.unknownName, "a Drop names a question that was never asked")
        }
        switch entries[Int(index)] {
        case .kept: entries[Int(index)] = .free
        case .waiting, .started, .running: dropped.insert(index)
        case .free: break
        }
    }

    mutating func finish(_ index: UInt32, keep: Bool) {
        guard Int(index) < entries.count else { return }
        let isDropped = !dropped.isEmpty && dropped.remove(index) != nil
        entries[Int(index)] = keep && !isDropped ? .kept : .free
        count -= 1
    }

    /// Every running task, to be cancelled at the end.
    mutating func removeAll() -> [RunningCall] {
        let running = entries.compactMap { entry -> RunningCall? in
            if case .running(let call) = entry { return call }
            return nil
        }
        entries = []
        dropped = []
        count = 0
        return running
    }
}
