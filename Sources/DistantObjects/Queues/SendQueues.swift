@_spi(Queues) import PortTransport

/// Messages that wait at their sender for the peer's credit or for room in the channel.
///
/// There are four lines, because calls and one-way messages have separate credits, and small and large messages have
/// separate limits. No message waits behind one of another of these lines.
///
/// Promises have a fifth. Unlike other messages they do not hold up their sender, and what it sends next may be for the same
/// object or for the promise. So every message of this side waits behind those that were sent before it.
///
/// Nested messages, which are sent while a call of the peer is served, have five lines of their own. They wait only for each
/// other: what waits for credit may depend on the calls that are served.
///
/// Calls that are passed on have another one. They wait only for each other as well.
struct SendQueues<Waiter, RoomWaiter>: ~Copyable {
    typealias Pending = PendingMessage<Waiter, RoomWaiter>

    private enum Line: Int, CaseIterable {
        case calls, oneWays, largeCalls, largeOneWays, promises
        case nestedCalls, nestedOneWays, largeNestedCalls, largeNestedOneWays, nestedPromises
        case passedOn

        /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
        init(_ message: OutboundMessage, oneWay: Bool) {
            let line: Self =
                switch message.role {
                case .plain: Self(oneWay: oneWay, large: message.isLarge)
                case .promise: .promises
                case .passedOn: .passedOn
                }
            self = message.isNested ? line.nested : line
        }

        init(oneWay: Bool, large: Bool) {
            switch (oneWay, large) {
            case (false, false): self = .calls
            case (true, false): self = .oneWays
            case (false, true): self = .largeCalls
            case (true, true): self = .largeOneWays
            }
        }

        /// The line for nested messages of the same kind.
        var nested: Self { Self(rawValue: rawValue + Self.nestedCalls.rawValue) ?? self }
        var isNested: Bool { (Self.nestedCalls.rawValue...Self.nestedPromises.rawValue).contains(rawValue) }
    }

    private final class Queue: @unchecked Sendable {  // Guarded by the connection's lock.
        var messages = Ring<Pending>()
    }

    private final class Waiting: @unchecked Sendable {  // Guarded by the connection's lock.
        /// One for each line.
        let queues = Line.allCases.map { _ in Queue() }
        var nextOrder: UInt64 = 0
        var count = 0

        subscript(line: Line) -> Queue { queues[line.rawValue] }

        /// The position of the first promise behind which the messages of a line wait.
        func firstPromise(before line: Line) -> UInt64 {
            if line == .passedOn { return .max }
            let nested = self[.nestedPromises].messages.first?.order ?? .max
            return line.isNested ? nested : min(nested, self[.promises].messages.first?.order ?? .max)
        }
    }

    /// Nil while no message waits, so that an idle connection needs no memory for the queues.
    private var waiting: Waiting?

    var count: Int { waiting?.count ?? 0 }

    var isEmpty: Bool { waiting == nil }

    /// Whether no message waits that has to be sent before this one.
    ///
    /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
    func isEmpty(before message: OutboundMessage, oneWay: Bool) -> Bool {
        guard let waiting else { return true }
        var line = Line(oneWay: oneWay, large: message.isLarge)
        if message.role == .passedOn { line = .passedOn }
        if message.isNested { line = line.nested }
        return waiting[line].messages.isEmpty && waiting.firstPromise(before: line) == .max
    }

    /// The bytes of the calls that are passed on and wait.
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
        waiting[Line(message, oneWay: oneWay)].messages.append(pending)
    }

    /// Removes a promise that waits, for `promote`; nil if there is none that does not wait as nested messages do.
    func takePromise(_ ticket: Ticket) -> Pending? {
        waiting?[.promises].messages.removeFirst {
            if case .call(let other, _) = $0.kind { other == ticket } else { false }
        }
    }

    /// Has promises wait as nested messages do, at the places that they had: the messages behind them stay behind.
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
        var best: (line: Line, order: UInt64)?
        for line in Line.allCases {
            guard let first = waiting[line].messages.first, first.order <= waiting.firstPromise(before: line),
                first.isOneWay ? oneWays : calls || borrowed && first.message.mayBorrow,
                best.map({ first.order < $0.order }) ?? true,
                !first.message.isLarge || fits(first.message.encoder.byteCount)
            else { continue }
            best = (line, first.order)
        }
        guard let best, let first = waiting[best.line].messages.popFirst() else { return nil }
        removedOne()
        return first
    }

    /// Removes and returns a message that is given up.
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
