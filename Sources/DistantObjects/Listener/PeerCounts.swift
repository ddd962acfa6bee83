import PortTransport

/// The number of open connections of each peer of a listener.
package struct PeerCounts {
    /// A peer whose connections are counted together.
    ///
    /// A process of this user is one peer, so that a faulty process cannot keep the others out. It could evade the limit by
    /// forking, but it could also simply kill this process. All processes of another user are one peer, because that user
    /// cannot kill this process and must not be able to exhaust it.
    package enum Peer: Hashable {
        case process(Int32)
        case user(UInt32)
        /// A peer without credentials.
        case unknown

        package init(_ credentials: PeerCredentials?) {
            guard let credentials else {
                self = .unknown
                return
            }
            // Processes that this process's namespace does not contain have the number 0.
            let isKnown = credentials.pid > 0 && credentials.isOfThisUser
            self = isKnown ? .process(credentials.pid) : .user(credentials.uid)
        }
    }

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

    /// Counts the end of a connection that was admitted.
    package mutating func leave(_ peer: Peer) {
        guard var entry = entries[peer] else { return }
        entry.count -= 1
        entries[peer] = entry.count > 0 ? entry : nil
    }
}

extension PeerCounts.Peer: CustomStringConvertible {
    package var description: String {
        switch self {
        case .process(let number): "process \(number)"
        case .user(let number): "user \(number)"
        case .unknown: "a process without credentials"
        }
    }
}
