public import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension PeerCredentials {
    /// Those of this process: what its peers see.
    public static var current: PeerCredentials {
        PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid())
    }

    /// Whether the peer certainly runs as the user of this process.
    var isOfThisUser: Bool { uid == PeerCredentials.current.uid && !UserNamespace.isAmbiguous(uid) }
}
