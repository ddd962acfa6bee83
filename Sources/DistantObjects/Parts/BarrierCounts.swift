/// Counts, for each barrier, the calls before it that were not handled yet.
struct BarrierCounts {
    private(set) var epoch: UInt32 = 0
    /// Calls since the last barrier.
    private var current = 0
    /// For each barrier that waits: its token and the calls between it and the one before.
    private var waiting: [(token: UInt64, unhandled: Int)] = []

    var waitingCount: Int { waiting.count }

    mutating func enter() -> UInt32 {
        current += 1
        return epoch
    }

    /// - Returns: The barriers that wait for no call any more, in order.
    mutating func handled(_ callEpoch: UInt32) -> [UInt64] {
        guard callEpoch != epoch else {
            current -= 1
            return []
        }
        let first = epoch &- UInt32(waiting.count)
        waiting[Int(callEpoch &- first)].unhandled -= 1
        return passed()
    }

    mutating func barrier(_ token: UInt64) -> [UInt64] {
        waiting.append((token, current))
        current = 0
        epoch &+= 1
        return passed()
    }

    private mutating func passed() -> [UInt64] {
        let count = waiting.prefix { $0.unhandled == 0 }.count
        guard count > 0 else { return [] }
        let tokens = waiting.prefix(count).map(\.token)
        waiting.removeFirst(count)
        return tokens
    }
}
