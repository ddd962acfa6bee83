#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension PeerCredentials {
    /// The credentials of this process, as its peers see them.
    public static var current: PeerCredentials {
        PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid())
    }

    /// Whether the peer certainly runs as the user of this process.
    package var isOfThisUser: Bool { uid == PeerCredentials.current.uid && !UserNamespace.isAmbiguous(uid) }
}
