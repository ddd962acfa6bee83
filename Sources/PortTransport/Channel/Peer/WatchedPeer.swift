/// The process at the other end that the loop watches.
enum WatchedPeer {
    case none
    /// The process that has sent the first bytes: its end is the end of the channel.
    case speaker(PeerProcess)
    /// The process that has launched this one: the channel's handler finds out whether it was the peer.
    case launcher(PeerProcess)

    mutating func take() -> PeerProcess? {
        defer { self = .none }
        switch self {
        case .none: return nil
        case .speaker(let process), .launcher(let process): return process
        }
    }
}
