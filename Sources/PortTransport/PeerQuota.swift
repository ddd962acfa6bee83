/// A limit of this process on a resource that peers make it use, with a share for each peer.
///
/// A peer may have half of what the other peers leave, so the first one has at most half of all, a second one a quarter
/// while the first has its half, and there is always something left. A peer that has nothing may have all that is left.
package final class PeerQuota: @unchecked Sendable {  // `lock` protects `state`.
    private struct State {
        var most: Int
        var total = 0
        var used: [PeerIdentity: Int] = [:]
    }

    private let lock = StateLock<State>()
    private var state: State

    package init(_ most: Int) { state = State(most: most) }

    deinit { lock.destroy() }

    /// Raises the limit to at least this.
    package func raise(to most: Int) { lock.withLock { state.most = max(state.most, most) } }

    /// Takes an amount of the quota.
    ///
    /// - Returns: False if it is beyond the peer's share.
    package func reserve(_ amount: Int, for peer: PeerIdentity) -> Bool {
        lock.withLock {
            let own = state.used[peer] ?? 0
            let left = state.most - (state.total - own)
            guard own + amount <= (own == 0 ? left : left / 2) else { return false }
            state.total += amount
            state.used[peer] = own + amount
            return true
        }
    }

    /// Gives back what was reserved.
    package func giveBack(_ amount: Int, for peer: PeerIdentity) {
        lock.withLock {
            state.total -= amount
            let rest = (state.used[peer] ?? 0) - amount
            state.used[peer] = rest > 0 ? rest : nil
        }
    }
}
