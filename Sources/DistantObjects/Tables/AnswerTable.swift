/// The peer's calls that are not answered yet, by question number.
struct AnswerTable<RunningCall> {
    enum Entry {
        case free
        /// Entered, but not started.
        case waiting(isCancelled: Bool)
        /// Started without a task: the method is synchronous, or its task does not exist yet.
        case started(isCancelled: Bool)
        /// Running in a task.
        case running(RunningCall)
        /// Answered, and kept until a `Drop`.
        case kept
    }

    private var entries: [Entry] = []
    /// Unanswered calls whose answers the peer has already dropped.
    private var dropped: Set<UInt32> = []
    private let limit: Int

    /// The number of unanswered calls.
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
    /// - Returns: Whether the peer has already cancelled it.
    mutating func start(_ index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .waiting(let isCancelled) = entries[Int(index)] else { return false }
        entries[Int(index)] = .started(isCancelled: isCancelled)
        return isCancelled
    }

    /// Attaches the task of a started call, so that the call can be cancelled.
    ///
    /// - Returns: Whether the caller has to cancel the task, because the peer has cancelled the call or the connection ended.
    mutating func attach(_ call: RunningCall, to index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .started(let isCancelled) = entries[Int(index)] else { return true }
        entries[Int(index)] = .running(call)
        return isCancelled
    }

    /// Notes that the peer has cancelled a call.
    ///
    /// - Returns: The running task, which the caller cancels without the lock.
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
            // The call was answered before the Cancel arrived.
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

    /// Empties the table at the end of the connection.
    ///
    /// - Returns: The running tasks, which the caller cancels.
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
