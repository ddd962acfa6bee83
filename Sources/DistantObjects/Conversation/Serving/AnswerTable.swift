/// The peer's calls that are not answered yet, by question number.
struct AnswerTable<RunningCall>: ~Copyable {
    enum Entry {
        /// The peer has never used the number.
        case unused
        case free
        /// Entered, but not started.
        case waiting(isCancelled: Bool)
        /// Started without a task: the method is synchronous, or its task does not exist yet.
        case started(isCancelled: Bool)
        /// Running in a task.
        case running(RunningCall)
        /// Ended; the answer is kept until a `Drop`.
        case kept
    }

    /// The kind of answer that a `Drop` has ended.
    enum Dropped {
        case nothing
        /// An answer that is known; nil without an agreement about promises.
        case answered(KeptAnswer?)
        /// An answer that is not known yet.
        case pending(KeptAnswer?)
    }

    /// State that is needed from the first promise of the peer on.
    private final class Promised {
        /// Unanswered calls whose answers the peer has already dropped.
        var dropped: Set<UInt32> = []
        /// The answers that messages may name.
        var kept = SmallDictionary<UInt32, KeptAnswer>()
        /// The answers that are the targets of calls which have not started, by the question of the call.
        var targets = SmallDictionary<UInt32, KeptAnswer>()
        /// The tables of calls that have not started and have unknown answers among their arguments, by the question of
        /// the call.
        var arguments = SmallDictionary<UInt32, MessageTables>()
    }

    private var entries = CompactArray<Entry>()
    private var promised: Promised?
    /// The unanswered calls that the peer has cancelled, or whose answers nothing needs any more.
    private var cancelled: Set<UInt32> = []

    /// The number of unanswered calls.
    private(set) var count = 0
    /// The number of unanswered calls that were cancelled, so that nobody waits for their answers.
    var cancelledCount: Int { cancelled.count }

    /// The number of question numbers that the peer has used.
    private(set) var numbers = 0

    /// Adds a call.
    ///
    /// - Parameters:
    ///   - answer: The answer, if messages may name it.
    ///   - asked: The number of question numbers that this side has used; `nil` if the sides have not agreed about promises.
    ///   - limit: The number of calls that the peer may have under way with credit.
    mutating func enter(
        _ index: UInt32, keeping answer: KeptAnswer?, asked: Int?, limit: Int
    ) throws(ProtocolViolation) {
        // Promises, and calls that the peer sends without credit, come in addition to the calls with credit.
        let limit = limit + (asked.map { ProtocolLimits.keptAnswers + $0 } ?? 0)
        guard Int(index) < limit else {
            throw ProtocolViolation(.overLimit, "a question's number is not below the \(limit) granted")
        }
        while entries.count <= Int(index) { entries.append(.unused) }
        switch entries[Int(index)] {
        case .unused: numbers += 1
        case .free: break
        case .waiting, .started, .running, .kept:
            throw ProtocolViolation(.outOfStep, "a question's number is used again before its Return")
        }
        entries[Int(index)] = .waiting(isCancelled: false)
        count += 1
        guard let answer else { return }
        let promised = madePromised()
        guard promised.kept.count < ProtocolLimits.keptAnswers else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.keptAnswers) answers are to be kept")
        }
        promised.kept.insert(answer, for: index)
    }

    private mutating func madePromised() -> Promised {
        if let promised { return promised }
        let made = Promised()
        promised = made
        return made
    }

    /// The number of answers that are known and kept.
    var keptCount: Int { promised?.kept.values.count { !$0.isPending } ?? 0 }

    /// The answer that messages may name under a question's number.
    func keptAnswer(_ index: UInt32) -> KeptAnswer? { promised?.kept[index] }

    /// The answer that a message of the peer names.
    func namedAnswer(_ index: UInt32) throws(ProtocolViolation) -> KeptAnswer {
        guard let answer = keptAnswer(index), !answer.isDropped else {
            throw ProtocolViolation(.unknownName, "an answer was named that is not kept")
        }
        return answer
    }

    /// Notes that a message is for an answer.
    ///
    /// - Parameter index: The question of the message; nil for a one-way message, which cannot be cancelled.
    mutating func use(_ target: KeptAnswer, by index: UInt32?) {
        guard target.isPending else { return }
        target.uses += 1
        if let index { madePromised().targets.insert(target, for: index) }
    }

    /// Notes that a message has answers as arguments.
    ///
    /// - Parameter index: The question of the message; nil for a one-way message, which cannot be cancelled.
    mutating func use(argumentsIn tables: MessageTables, by index: UInt32?) {
        var isPending = false
        tables.forEachAnswer { answer in
            guard answer.isPending else { return }
            answer.uses += 1
            isPending = true
        }
        if let index, isPending { madePromised().arguments.insert(tables, for: index) }
    }

    /// Notes that a message no longer needs the answers that it names, because it is cancelled.
    ///
    /// - Returns: The questions of the answers that nobody needs now.
    mutating func endUses(by index: UInt32) -> [UInt32] {
        guard let promised else { return [] }
        var unneeded: [UInt32] = []
        // If the answer is known by now, its count may be wrong, but nothing reads the count any more.
        func endUse(of answer: KeptAnswer) {
            answer.uses -= 1
            if answer.isUnneeded { unneeded.append(answer.question) }
        }
        if let target = promised.targets.removeValue(forKey: index) { endUse(of: target) }
        promised.arguments.removeValue(forKey: index)?.forEachAnswer { endUse(of: $0) }
        return unneeded
    }

    /// Calls `body` with each message that waits for an answer that is not known, or for one that is an object of the
    /// peer.
    func forEachWaiting(_ body: (InboundCall) -> Void) {
        for answer in promised?.kept.values ?? [] { answer.forEachWaiting(body) }
    }

    /// Marks a call as started.
    ///
    /// - Returns: Whether the call was cancelled before.
    mutating func start(_ index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .waiting(let isCancelled) = entries[Int(index)] else { return false }
        entries[Int(index)] = .started(isCancelled: isCancelled)
        // The answers that the call names are known.
        if let promised {
            promised.targets.removeValue(forKey: index)
            promised.arguments.removeValue(forKey: index)
        }
        return isCancelled
    }

    /// Attaches the task of a started call, so that the call can be cancelled.
    ///
    /// - Returns: Whether the caller has to cancel the task, because the call was cancelled or the connection has
    ///   ended.
    mutating func attach(_ call: RunningCall, to index: UInt32) -> Bool {
        guard Int(index) < entries.count, case .started(let isCancelled) = entries[Int(index)] else { return true }
        entries[Int(index)] = .running(call)
        return isCancelled
    }

    /// Notes that a call is cancelled, by the peer or because nothing needs its answer any more.
    ///
    /// - Returns: The running task, which the caller cancels without the lock.
    mutating func cancel(_ index: UInt32) throws(ProtocolViolation) -> RunningCall? {
        switch Int(index) < entries.count ? entries[Int(index)] : .unused {
        case .unused:
            throw ProtocolViolation(.unknownName, "a Cancel names a question that was never asked")
        case .waiting:
            entries[Int(index)] = .waiting(isCancelled: true)
            cancelled.insert(index)
            return nil
        case .started:
            entries[Int(index)] = .started(isCancelled: true)
            cancelled.insert(index)
            return nil
        case .running(let call):
            cancelled.insert(index)
            return call
        case .free, .kept:
            // The call was answered before the Cancel arrived.
            return nil
        }
    }

    mutating func drop(_ index: UInt32) throws(ProtocolViolation) -> Dropped {
        switch Int(index) < entries.count ? entries[Int(index)] : .unused {
        case .unused:
            throw ProtocolViolation(.unknownName, "a Drop names a question that was never asked")
        case .kept:
            entries[Int(index)] = .free
            return .answered(promised?.kept.removeValue(forKey: index))
        case .waiting, .started, .running:
            madePromised().dropped.insert(index)
            let answer = keptAnswer(index)
            answer?.isDropped = true
            return .pending(answer)
        case .free: return .nothing
        }
    }

    /// Ends a call.
    ///
    /// - Returns: Whether the answer is kept; and the answer itself, if it was to be kept but the peer has dropped it
    ///   already.
    @discardableResult
    mutating func finish(_ index: UInt32, keep: Bool) -> (isKept: Bool, dropped: KeptAnswer?) {
        guard Int(index) < entries.count else { return (false, nil) }
        let isDropped = promised?.dropped.remove(index) != nil
        let isKept = keep && !isDropped
        entries[Int(index)] = isKept ? .kept : .free
        count -= 1
        if !cancelled.isEmpty { cancelled.remove(index) }
        return (isKept, isDropped ? promised?.kept.removeValue(forKey: index) : nil)
    }

    /// Empties the table at the end of the connection.
    ///
    /// - Returns: The running tasks, which the caller cancels, and the kept answers with the messages that wait for them.
    mutating func removeAll() -> (running: [RunningCall], kept: [KeptAnswer], waiting: [InboundCall]) {
        let running = entries.indices.compactMap { index -> RunningCall? in
            if case .running(let call) = entries[index] { return call }
            return nil
        }
        let answers = promised?.kept.values ?? []
        // An answer and the messages that have it as an argument hold each other.
        let waiting = answers.flatMap { $0.takeMessages() + $0.takeDependents() }
        entries.removeAll()
        promised = nil
        cancelled = []
        count = 0
        return (running, answers, waiting)
    }
}
