/// Messages that wait at their sender, for credit of the peer's or for room in this side's own queue.
///
/// There are four lines: calls and one-way messages have credits of their own, and small and large messages have bounds of
/// their own. No message waits behind one of another line.
struct SendQueues<Waiter, RoomWaiter> {
    typealias Pending = PendingMessage<Waiter, RoomWaiter>

    private enum Line: Int, CaseIterable {
        case calls, oneWays, largeCalls, largeOneWays

        init(oneWay: Bool, large: Bool) {
            switch (oneWay, large) {
            case (false, false): self = .calls
            case (true, false): self = .oneWays
            case (false, true): self = .largeCalls
            case (true, true): self = .largeOneWays
            }
        }

        var isOneWay: Bool { self == .oneWays || self == .largeOneWays }
        var isLarge: Bool { self == .largeCalls || self == .largeOneWays }
    }

    /// One for each line; none while nothing waits, as on an idle connection.
    private var lines: [Fifo<Pending>] = []
    private var nextOrder: UInt64 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Whether no message of this kind waits.
    func isEmpty(oneWay: Bool, large: Bool) -> Bool {
        lines.isEmpty || lines[Line(oneWay: oneWay, large: large).rawValue].isEmpty
    }

    /// - Parameter oneWay: It uses the credit of one-way messages.
    mutating func append(_ message: OutboundMessage, _ kind: Pending.Kind, oneWay: Bool) {
        if lines.isEmpty { lines = Line.allCases.map { _ in Fifo() } }
        let pending = Pending(message: message, kind: kind, order: nextOrder)
        nextOrder += 1
        count += 1
        lines[Line(oneWay: oneWay, large: message.isLarge).rawValue].append(pending)
    }

    /// Takes out the message that has waited longest of those that may go.
    ///
    /// - Parameters:
    ///   - calls: There is credit for calls.
    ///   - oneWays: There is credit for one-way messages.
    ///   - fits: Whether a large message of so many bytes has room.
    mutating func popFirst(calls: Bool, oneWays: Bool, fits: (Int) -> Bool) -> Pending? {
        guard !lines.isEmpty else { return nil }
        var best: (line: Line, order: UInt64)?
        for line in Line.allCases where line.isOneWay ? oneWays : calls {
            guard let first = lines[line.rawValue].first, best.map({ first.order < $0.order }) ?? true,
                !line.isLarge || fits(first.message.encoder.byteCount)
            else { continue }
            best = (line, first.order)
        }
        guard let best, let first = lines[best.line.rawValue].popFirst() else { return nil }
        removed(1)
        return first
    }

    /// Takes out a message that is given up.
    mutating func removeFirst(where matches: (Pending) -> Bool) -> Pending? {
        for index in lines.indices {
            guard let first = lines[index].removeFirst(where: matches) else { continue }
            removed(1)
            return first
        }
        return nil
    }

    /// All of them, in the order they came.
    mutating func removeAll() -> [Pending] {
        var all: [Pending] = []
        for index in lines.indices { all += lines[index].removeAll() }
        removed(count)
        return all.sorted { $0.order < $1.order }
    }

    private mutating func removed(_ number: Int) {
        count -= number
        if count == 0 { lines = [] }
    }
}
