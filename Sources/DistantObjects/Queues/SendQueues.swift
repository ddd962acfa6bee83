@_spi(Queues) import PortTransport

/// Messages that wait at their sender for the peer's credit or for room in the channel.
///
/// There are four queues, because calls and one-way messages have separate credits, and small and large messages have
/// separate limits. No message waits behind one of another of these queues.
///
/// Promises have a fifth. Unlike other messages they do not hold up their sender, and what it sends next may be for the same
/// object or for the promise. So every message of this side waits behind those that were sent before it.
///
/// Calls that are passed on have a sixth. They need no credit, and wait only for each other: the peer's credit may depend on
/// them.
struct SendQueues<Waiter, RoomWaiter>: ~Copyable {
    typealias Pending = PendingMessage<Waiter, RoomWaiter>

    private enum Kind: Int, CaseIterable {
        case calls, oneWays, largeCalls, largeOneWays, promises, passedOn

        /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
        init(_ message: OutboundMessage, oneWay: Bool) {
            switch message.role {
            case .plain: self.init(oneWay: oneWay, large: message.isLarge)
            case .promise: self = .promises
            case .passedOn: self = .passedOn
            }
        }

        init(oneWay: Bool, large: Bool) {
            switch (oneWay, large) {
            case (false, false): self = .calls
            case (true, false): self = .oneWays
            case (false, true): self = .largeCalls
            case (true, true): self = .largeOneWays
            }
        }
    }

    private final class Queue: @unchecked Sendable {  // Guarded by the connection's lock.
        var messages = Ring<Pending>()
    }

    private final class Waiting: @unchecked Sendable {  // Guarded by the connection's lock.
        /// One for each kind.
        let queues = Kind.allCases.map { _ in Queue() }
        var nextOrder: UInt64 = 0
        var count = 0

        subscript(kind: Kind) -> Queue { queues[kind.rawValue] }
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
        if message.role == .passedOn { return waiting[.passedOn].messages.isEmpty }
        let others = Kind(oneWay: oneWay, large: message.isLarge)
        return waiting[others].messages.isEmpty && waiting[.promises].messages.isEmpty
    }

    /// - Parameter oneWay: Whether the message uses the credit of one-way messages.
    mutating func append(_ message: OutboundMessage, _ kind: Pending.Kind, oneWay: Bool) {
        let waiting = waiting ?? Waiting()
        self.waiting = waiting
        let pending = Pending(message: message, kind: kind, order: waiting.nextOrder)
        waiting.nextOrder += 1
        waiting.count += 1
        waiting[Kind(message, oneWay: oneWay)].messages.append(pending)
    }

    /// Removes and returns the oldest message that may be sent.
    ///
    /// - Parameters:
    ///   - calls: Whether there is credit for calls.
    ///   - oneWays: Whether there is credit for one-way messages.
    ///   - passedOn: Whether calls may be passed on.
    ///   - fits: Whether there is room for a large message of the given size.
    mutating func popFirst(calls: Bool, oneWays: Bool, passedOn: Bool, fits: (Int) -> Bool) -> Pending? {
        guard let waiting else { return nil }
        let firstPromise = waiting[.promises].messages.first?.order ?? .max
        var best: (kind: Kind, order: UInt64)?
        for kind in Kind.allCases {
            let maySend =
                switch kind {
                case .calls, .largeCalls, .promises: calls
                case .oneWays, .largeOneWays: oneWays
                case .passedOn: passedOn
                }
            guard maySend, let first = waiting[kind].messages.first, kind == .passedOn || first.order <= firstPromise,
                best.map({ first.order < $0.order }) ?? true,
                !first.message.isLarge || fits(first.message.encoder.byteCount)
            else { continue }
            best = (kind, first.order)
        }
        guard let best, let first = waiting[best.kind].messages.popFirst() else { return nil }
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
