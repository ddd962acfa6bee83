/// A peer whose use of this process's resources is counted as one.
///
/// A process of this user is one peer, so that a faulty process cannot keep the others out. It could evade a limit by
/// forking, but it could also simply kill this process. All processes of another user are one peer, because that user cannot
/// kill this process and must not be able to exhaust it.
package enum PeerIdentity: Hashable, Sendable {
    case process(Int32)
    case user(UInt32)
    /// A peer without credentials. All of them are one peer.
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

extension PeerIdentity: CustomStringConvertible {
    package var description: String {
        switch self {
        case .process(let number): "process \(number)"
        case .user(let number): "user \(number)"
        case .unknown: "a process without credentials"
        }
    }
}
