import PortTransport

/// The number of open connections of each peer of a listener.
package struct PeerCounts {
    package typealias Peer = PeerIdentity

    package enum Verdict: Equatable {
        case admitted
        /// - Parameter isFirst: Whether it is the first refusal since a connection was admitted.
        case refused(isFirst: Bool)
    }

    private struct Entry {
        var count = 0
        var wasRefused = false
    }

    private let maximum: Int
    /// The peers that have an open connection.
    private var entries: [Peer: Entry] = [:]

    /// - Parameter maximum: The most connections of one peer, at least 1.
    package init(maximum: Int) { self.maximum = maximum }

    /// Whether no peer has an open connection.
    package var isEmpty: Bool { entries.isEmpty }

    /// Counts a new connection, if the limit allows it.
    package mutating func enter(_ peer: Peer) -> Verdict {
        var entry = entries[peer] ?? Entry()
        defer { entries[peer] = entry }
        guard entry.count < maximum else {
            defer { entry.wasRefused = true }
            return .refused(isFirst: !entry.wasRefused)
        }
        entry.count += 1
        entry.wasRefused = false
        return .admitted
    }

    /// Notes that a peer with open connections was refused one, although its number would allow it.
    ///
    /// - Returns: Whether it is the first refusal since a connection was admitted.
    package mutating func refuse(_ peer: Peer) -> Bool {
        guard entries[peer]?.wasRefused == false else { return false }
        entries[peer]?.wasRefused = true
        return true
    }

    /// The number of open connections of a peer.
    package func count(of peer: Peer) -> Int { entries[peer]?.count ?? 0 }

    /// The peer with the most open connections.
    ///
    /// - Complexity: O(*n*) in the number of peers.
    package var largest: (peer: Peer, count: Int)? {
        entries.max { $0.value.count < $1.value.count }.map { ($0.key, $0.value.count) }
    }

    /// Counts the end of a connection that was admitted.
    package mutating func leave(_ peer: Peer) {
        guard var entry = entries[peer] else { return }
        entry.count -= 1
        entries[peer] = entry.count > 0 ? entry : nil
    }
}
