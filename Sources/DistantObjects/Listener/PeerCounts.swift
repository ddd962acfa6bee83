import PortTransport

/// How many connections of each peer a listener has open.
package struct PeerCounts {
    /// Who counts as one peer.
    ///
    /// A process of this user, since one that has lost count of its connections must not keep the others out. It could get
    /// around that by forking, but then a process of this user could also end this one. Another user can do neither, so all
    /// its processes count as one peer.
    package enum Peer: Hashable {
        case process(Int32)
        case user(UInt32)
        /// The system does not say who it is.
        case unknown

        package init(_ credentials: PeerCredentials?) {
            guard let credentials else {
                self = .unknown
                return
            }
            // Processes that cannot be seen from this one's namespace have the number 0.
            let isKnown = credentials.pid > 0 && credentials.isOfThisUser
            self = isKnown ? .process(credentials.pid) : .user(credentials.uid)
        }
    }

    package enum Verdict: Equatable {
        case admitted
        /// - Parameter isFirst: None was refused since one was admitted last.
        case refused(isFirst: Bool)
    }

    private struct Entry {
        var count = 0
        var wasRefused = false
    }

    private let maximum: Int
    /// Of peers that have a connection open.
    private var entries: [Peer: Entry] = [:]

    /// - Parameter maximum: The most connections of one peer, at least 1.
    package init(maximum: Int) { self.maximum = maximum }

    /// Whether no peer has a connection open.
    package var isEmpty: Bool { entries.isEmpty }

    /// Counts another connection, if there may be one.
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

    /// A connection that was admitted is no more.
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
