internal import CPortShims

/// The descriptors that each peer makes this process use, over all listeners and connections: one for each accepted
/// connection, two more in shared memory.
package final class PeerDescriptors: @unchecked Sendable {  // `lock` protects `used`.
    package static let shared = PeerDescriptors()

    /// What a connection uses in shared memory, beside its socket.
    static let ofSharedMemory = 2

    private let lock = StateLock<[PeerIdentity: Int]>()
    private var used: [PeerIdentity: Int] = [:]

    package init() {}

    deinit { lock.destroy() }

    /// The descriptors that peers may use at all: those that this process may have, without the last ones, which
    /// `port_unless_last` keeps.
    package static var most: Int { Int(port_peer_descriptors()) }

    /// Takes descriptors for a peer, which may have half of all.
    ///
    /// - Parameter bound: What it may have in any case, as the program has set.
    /// - Returns: False if it has too many.
    package func reserve(_ count: Int, for peer: PeerIdentity, atLeast bound: Int = 0) -> Bool {
        let most = max(1, Self.most / 2, bound)
        return lock.withLock {
            let own = (used[peer] ?? 0) + count
            guard own <= most else { return false }
            used[peer] = own
            return true
        }
    }

    /// Gives back what was reserved.
    package func giveBack(_ count: Int, for peer: PeerIdentity) {
        lock.withLock {
            let rest = (used[peer] ?? 0) - count
            used[peer] = rest > 0 ? rest : nil
        }
    }
}
