@_spi(Queues) import PortTransport

/// Messages that wait at their sender for the peer's credit or for room in the channel.
///
/// There are four queues, because calls and one-way messages have separate credit, and small and large messages have
/// separate limits. A message does not wait behind messages in another of these queues.
///
/// Promises have a fifth queue. Unlike other messages they do not hold up their sender, whose next message may be for
/// the same object or for the promise. So, with the exceptions below, a message of this side waits behind the promises
/// that were sent before it.
///
/// *Nested* messages, which are sent while a call of the peer is served, have five queues of their own. They wait only
/// for each other: the credit and the room that other messages wait for may depend on the calls that are served.
///
/// Calls that are *passed on*, which are the peer's own calls that this side sends back to the peer, have one more
/// queue. They also wait only for each other.
struct SendQueues<Waiter, RoomWaiter>: ~Copyable {
    typealias Pending = PendingMessage<Waiter, RoomWaiter>

    private enum QueueKind: Int, CaseIterable {
        case calls, oneWays, largeCalls, largeOneWays, promises
        case nestedCalls, nestedOneWays, largeNestedCalls, largeNestedOneWays, nestedPromises
        case passedOn

        /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
        init(_ message: OutboundMessage, oneWay: Bool) {
            let queue: Self =
                switch message.role {
                case .plain: Self(oneWay: oneWay, large: message.isLarge)
                case .promise: .promises
                case .passedOn: .passedOn
                }
            self = message.isNested ? queue.nested : queue
        }

        init(oneWay: Bool, large: Bool) {
            switch (oneWay, large) {
            case (false, false): self = .calls
            case (true, false): self = .oneWays
            case (false, true): self = .largeCalls
            case (true, true): self = .largeOneWays
            }
        }

        /// The queue for nested messages of the same kind.
        var nested: Self { Self(rawValue: rawValue + Self.nestedCalls.rawValue) ?? self }
        var isNested: Bool { (Self.nestedCalls.rawValue...Self.nestedPromises.rawValue).contains(rawValue) }
    }

    private final class Queue: @unchecked Sendable {  // Guarded by the connection's lock.
        var messages = Ring<Pending>()
    }

    private final class Waiting: @unchecked Sendable {  // Guarded by the connection's lock.
        /// One queue for each kind.
        let queues = QueueKind.allCases.map { _ in Queue() }
        var nextOrder: UInt64 = 0
        var count = 0

        subscript(queue: QueueKind) -> Queue { queues[queue.rawValue] }

        /// The position of the first promise that the messages of a queue have to wait for.
        func firstPromise(before queue: QueueKind) -> UInt64 {
            if queue == .passedOn { return .max }
            let nested = self[.nestedPromises].messages.first?.order ?? .max
            return queue.isNested ? nested : min(nested, self[.promises].messages.first?.order ?? .max)
        }
    }

    /// Nil while no message waits, so that an idle connection needs no memory for the queues.
    private var waiting: Waiting?

    var count: Int { waiting?.count ?? 0 }

    var isEmpty: Bool { waiting == nil }

    /// Whether no queued message has to be sent before this one.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - oneWay: Whether that message uses the credit of one-way messages.
    func isEmpty(before message: OutboundMessage, oneWay: Bool) -> Bool {
        guard let waiting else { return true }
        var queue = QueueKind(oneWay: oneWay, large: message.isLarge)
        if message.role == .passedOn { queue = .passedOn }
        if message.isNested { queue = queue.nested }
        return waiting[queue].messages.isEmpty && waiting.firstPromise(before: queue) == .max
    }

    /// The bytes of the queued calls that are passed on.
    var bytesPassedOn: Int {
        guard let messages = waiting?[.passedOn] else { return 0 }
        return (0..<messages.messages.count).reduce(0) { $0 + messages.messages[$1].message.encoder.byteCount }
    }

    /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
    mutating func append(_ message: OutboundMessage, _ kind: Pending.Kind, oneWay: Bool) {
        let waiting = waiting ?? Waiting()
        self.waiting = waiting
        let pending = Pending(message: message, kind: kind, order: waiting.nextOrder)
        waiting.nextOrder += 1
        waiting.count += 1
        waiting[QueueKind(message, oneWay: oneWay)].messages.append(pending)
    }

    /// Removes the promise with the given question from the queue of ordinary promises, so that `promote` can move it;
    /// nil if that queue does not have it.
    func takePromise(_ ticket: Ticket) -> Pending? {
        waiting?[.promises].messages.removeFirst {
            if case .call(let other, _) = $0.kind { other == ticket } else { false }
        }
    }

    /// Moves promises to the queue of nested promises, at their places in the order of sending.
    ///
    /// Messages that were behind them stay where they are.
    func promote(_ promises: [Pending]) {
        guard let waiting else { return }
        for promise in promises { promise.message.isNested = true }
        let all = promises + waiting[.nestedPromises].messages.removeAll()
        for promise in all.sorted(by: { $0.order < $1.order }) { waiting[.nestedPromises].messages.append(promise) }
    }

    /// Removes and returns the oldest message that may be sent.
    ///
    /// - Parameters:
    ///   - calls: Whether there is credit for calls.
    ///   - oneWays: Whether there is credit for one-way messages.
    ///   - borrowed: Whether nested calls, and those that are passed on, may be sent without credit.
    ///   - fits: Whether there is room for a large message of the given size.
    mutating func popFirst(calls: Bool, oneWays: Bool, borrowed: Bool, fits: (Int) -> Bool) -> Pending? {
        guard let waiting else { return nil }
        var best: (queue: QueueKind, order: UInt64)?
        for queue in QueueKind.allCases {
            guard let first = waiting[queue].messages.first, first.order <= waiting.firstPromise(before: queue),
                first.isOneWay ? oneWays : calls || borrowed && first.message.mayBorrow,
                best.map({ first.order < $0.order }) ?? true,
                !first.message.isLarge || fits(first.message.encoder.byteCount)
            else { continue }
            best = (queue, first.order)
        }
        guard let best, let first = waiting[best.queue].messages.popFirst() else { return nil }
        removedOne()
        return first
    }

    /// Removes and returns a message that was given up.
    mutating func removeFirst(where matches: (Pending) -> Bool) -> Pending? {
        guard let waiting else { return nil }
        for queue in waiting.queues {
            guard let first = queue.messages.removeFirst(where: matches) else { continue }
            removedOne()
            return first
        }
        return nil
    }

    /// Removes and returns all messages, in the order they were added.
    mutating func removeAll() -> [Pending] {
        guard let waiting else { return [] }
        self.waiting = nil
        return waiting.queues.flatMap { $0.messages.removeAll() }.sorted { $0.order < $1.order }
    }

    private mutating func removedOne() {
        waiting?.count -= 1
        if waiting?.count == 0 { waiting = nil }
    }
}
