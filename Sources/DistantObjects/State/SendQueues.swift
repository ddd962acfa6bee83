/// Messages that wait at their sender, for credit of the peer's or for room in this side's own queue.
///
/// Calls and one-way messages stand apart, as each kind has a credit of its own, and so do small and large ones, as each has
/// a bound of its own. No message waits behind one of another line.
struct SendQueues {
    private typealias Line = Fifo<PendingCommit>

    private var calls = Line()
    private var largeCalls = Line()
    private var oneWays = Line()
    private var largeOneWays = Line()
    private var nextOrder: UInt64 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Whether a message of this kind has nobody to wait behind.
    func isEmpty(oneWay: Bool, large: Bool) -> Bool { self[keyPath: line(oneWay: oneWay, large: large)].isEmpty }

    /// - Parameter oneWay: It uses the credit of one-way messages.
    mutating func append(_ message: OutboundMessage, _ kind: PendingCommit.Kind, oneWay: Bool) {
        let pending = PendingCommit(message: message, kind: kind, order: nextOrder)
        nextOrder += 1
        count += 1
        self[keyPath: line(oneWay: oneWay, large: message.isLarge)].append(pending)
    }

    /// Takes out the message that has waited longest of those that may go.
    ///
    /// - Parameters:
    ///   - calls: There is credit for calls.
    ///   - oneWays: There is credit for one-way messages.
    ///   - fits: Whether a large message of so many bytes has room.
    mutating func popFirst(calls: Bool, oneWays: Bool, fits: (Int) -> Bool) -> PendingCommit? {
        var best: (line: WritableKeyPath<SendQueues, Line>, order: UInt64)?
        for (mayGo, line, isLarge) in [
            (calls, \SendQueues.calls, false), (oneWays, \SendQueues.oneWays, false),
            (calls, \SendQueues.largeCalls, true), (oneWays, \SendQueues.largeOneWays, true),
        ] where mayGo {
            guard let first = self[keyPath: line].first, best.map({ first.order < $0.order }) ?? true,
                !isLarge || fits(first.message.encoder.byteCount)
            else { continue }
            best = (line, first.order)
        }
        guard let best else { return nil }
        count -= 1
        return self[keyPath: best.line].popFirst()
    }

    /// Takes out a message that is given up.
    mutating func removeFirst(where matches: (PendingCommit) -> Bool) -> PendingCommit? {
        for line in Self.lines {
            guard let removed = self[keyPath: line].removeFirst(where: matches) else { continue }
            count -= 1
            return removed
        }
        return nil
    }

    /// All of them, in the order they came.
    mutating func removeAll() -> [PendingCommit] {
        guard count > 0 else { return [] }
        count = 0
        var all: [PendingCommit] = []
        for line in Self.lines { all += self[keyPath: line].removeAll() }
        return all.sorted { $0.order < $1.order }
    }

    private static var lines: [WritableKeyPath<SendQueues, Line>] {
        [\.calls, \.largeCalls, \.oneWays, \.largeOneWays]
    }

    private func line(oneWay: Bool, large: Bool) -> WritableKeyPath<SendQueues, Line> {
        switch (oneWay, large) {
        case (false, false): \.calls
        case (false, true): \.largeCalls
        case (true, false): \.oneWays
        case (true, true): \.largeOneWays
        }
    }
}
