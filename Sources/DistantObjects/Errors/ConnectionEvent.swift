public import PortTransport

/// Something that happened to a connection; cases may be added.
public enum ConnectionEvent: Sendable {
    /// The handshake is done.
    case opened(peer: PeerCredentials?, name: String)
    /// A one-way message the peer sent here failed.
    case oneWayFailedHere(message: String, any Error)
    /// A one-way message sent from here failed in the peer; the number is that of its frame, which tells two failures of one
    /// connection apart and no more.
    case oneWayFailed(number: UInt64, ConnectionError)
    /// A call of the peer was refused.
    case callRefused(message: String, ConnectionError)
    /// So many methods block, here or on other connections of the process, that the loop has no thread left: nothing is read
    /// until one of them returns.
    case threadsExhausted(Int)
    /// The listener whose configuration this is cannot accept, and tries again: most often the process or the system has no
    /// descriptor left, or as many connections are open as `Connection.Limits.connections` allows. It comes once until it has accepted again.
    case acceptPaused(ConnectionError)
    /// The listener whose configuration this is has refused a process, because the peer has as many connections open as
    /// `Connection.Limits.connectionsOfPeer` allows. It comes once for each peer until one of its connections is accepted again.
    case tooManyConnections(PeerCredentials?, ConnectionError)
    /// Nobody can use the connection any more, and it was not closed: nothing in this process refers to it, it vends nothing,
    /// and the peer holds no object of this process.
    ///
    /// It stays open, with its descriptors, until the peer ends it; `Connection.current` is there to be closed. It comes once,
    /// from a second to about a minute after the last reference is gone. A hook that holds the connection itself keeps it from coming.
    case dropped
    /// The connection has ended; nothing follows.
    case ended(ConnectionEnd)
}
