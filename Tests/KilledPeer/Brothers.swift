import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A process that starts a helper, and a brother of the helper that holds the tool's end of their connection.
enum Brothers {
    /// Calls the helper, says the brother's number on standard output, and waits to be killed.
    ///
    /// The brother does not hold standard error, so that this ends with the tool and the helper.
    static func run(over way: String) async throws {
        let ends = way == "pipes" ? try pipes() : try socketpair()
        setenv("DISTANT_OBJECTS_CHANNEL", way == "pipes" ? "stdio" : "fd:3", 1)
        try Program(
            descriptors: zip(ends.theirs, way == "pipes" ? [0, 1] : [3] as [CInt]).map { ($0, $1) }
        ).start()
        for descriptor in ends.theirs { close(descriptor) }
        let null = try SystemError.check(open("/dev/null", O_RDWR | O_CLOEXEC))
        let held: [(CInt, CInt)] = zip(ends.ours, [3, 4] as [CInt]).map { ($0, $1) }
        let brother = try Program(
            path: "/bin/sleep", arguments: ["100000"], descriptors: held + [(null, 0), (null, 1), (null, 2)]
        ).start()

        var configuration = Connection.Configuration.patientOpening
        if way == "memory" { configuration.busy.frames = 1 }
        let connection =
            way == "pipes"
            ? try await Connection.adopt(
                reading: ends.ours[0], writing: ends.ours[1], isInitiator: true, configuration: configuration)
            : try await Connection.adopt(socket: ends.ours[0], isInitiator: true, configuration: configuration)
        let answer: Int = try await connection.root.note(7)
        guard answer == 7 else { throw SystemError(number: EPROTO) }
        while way == "memory", !connection.isInSharedMemory { try await connection.ping() }
        print(brother)
        fflush(nil)
        while true { pause() }
    }

    /// This process's ends and the helper's, each one socket, or a pipe to read and one to write.
    private typealias Ends = (ours: [CInt], theirs: [CInt])

    private static func socketpair() throws -> Ends {
        let (one, other) = try both { pair in
            #if canImport(Darwin)
                Darwin.socketpair(AF_UNIX, SOCK_STREAM, 0, pair)
            #else
                Glibc.socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, pair)
            #endif
        }
        return ([one], [other])
    }

    private static func pipes() throws -> Ends {
        let (forth, back) = (try both { pipe($0) }, try both { pipe($0) })
        return ([back.0, forth.1], [forth.0, back.1])
    }

    private static func both(_ make: (UnsafeMutablePointer<CInt>?) -> CInt) throws -> (CInt, CInt) {
        var pair: [CInt] = [-1, -1]
        try SystemError.check(pair.withUnsafeMutableBufferPointer { make($0.baseAddress) })
        for descriptor in pair { try SystemError.check(fcntl(descriptor, F_SETFD, FD_CLOEXEC)) }
        return (pair[0], pair[1])
    }
}
