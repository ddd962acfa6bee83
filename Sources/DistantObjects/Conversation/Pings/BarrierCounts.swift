/// Counts, for each barrier of the peer, the earlier calls that are not handled yet.
struct BarrierCounts {
    private(set) var epoch: UInt32 = 0
    /// Unhandled calls since the last barrier.
    private var current: UInt32 = 0
    /// For each waiting barrier its token, and the unhandled calls between it and the barrier before.
    private var waiting: [(token: UInt64, unhandled: UInt32)] = []

    var waitingCount: Int { waiting.count }

    /// Counts a call.
    ///
    /// - Returns: The epoch to pass to `handled(_:)`.
    mutating func enter() -> UInt32 {
        current += 1
        return epoch
    }

    /// Counts a call as handled.
    ///
    /// - Returns: The tokens of the barriers that have no more calls to wait for, in order.
    mutating func handled(_ callEpoch: UInt32) -> [UInt64] {
        guard callEpoch != epoch else {
            current -= 1
            return []
        }
        let first = epoch &- UInt32(waiting.count)
        waiting[Int(callEpoch &- first)].unhandled -= 1
        return passed()
    }

    /// Adds a barrier.
    ///
    /// - Returns: The tokens of the barriers that have no more calls to wait for, in order.
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
