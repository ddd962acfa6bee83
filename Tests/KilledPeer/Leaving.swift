#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Processes that make a socket, start another one that uses it, and leave.
enum Leaving {
    /// Connects to a listener and leaves the connection to a `client`.
    static func leaveClient(connectedTo path: String) throws {
        let descriptor = try socket(at: path, connect)
        try Program(arguments: ["client"], descriptors: [(descriptor, 3)]).start()
    }

    /// Listens and leaves the socket to a `server`.
    static func leaveServer(at path: String) throws {
        let descriptor = try socket(at: path, bind)
        try SystemError.check(listen(descriptor, 16))
        try Program(
            path: "/bin/sh",
            arguments: ["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" server", CommandLine.arguments[0]],
            descriptors: [(descriptor, 3)]
        ).start()
    }

    private static func socket(
        at path: String, _ use: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt
    ) throws -> CInt {
        #if canImport(Darwin)
            let stream = SOCK_STREAM
        #else
            let stream = CInt(SOCK_STREAM.rawValue)
        #endif
        let descriptor = try SystemError.check(unboundSocket(stream))
        try SystemError.check(fcntl(descriptor, F_SETFD, FD_CLOEXEC))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        try withUnsafePointer(to: &address) { address in
            try address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = try SystemError.check(use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)))
            }
        }
        return descriptor
    }
}

// `Leaving` has a function of the system's name.
private func unboundSocket(_ type: CInt) -> CInt { socket(AF_UNIX, type, 0) }
