internal import CPortShims

/// The process at the other end of a channel, as the kernel reports it.
public struct PeerCredentials: Sendable, Hashable, CustomStringConvertible {
    /// The peer's process number.
    ///
    /// Numbers are used again: treat it as a label, not as a key.
    public let pid: Int32
    /// The peer's effective user when the connection was made.
    public let uid: UInt32
    /// The peer's effective group when the connection was made.
    public let gid: UInt32

    /// Credentials with the numbers given.
    public init(pid: Int32, uid: UInt32, gid: UInt32) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
    }

    init(_ credentials: port_credentials) {
        self.init(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid)
    }

    /// The numbers with their names.
    public var description: String { "pid \(pid), uid \(uid), gid \(gid)" }
}
