internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChannelEndpoint {
    /// Connects to the listener at `path`.
    ///
    /// Never waits: a listener with a full queue is an error, and the caller may try again.
    /// - Throws: `pathTooLong`, `notFound`, `nobodyListens`, `listenerBusy`, `wrongDescriptor`, or `system`, each naming
    ///   the path.
    package static func connect(path: String) throws(TransportError) -> ChannelEndpoint {
        // The process that listens may have got its socket from another one, so the answer tells who the peer is.
        ChannelEndpoint(link: .socket(try connected(path)), credentials: .connected, learnsSpeaker: true)
    }

    /// Connects to a process that only passes on what it reads: it is not the peer, and carries no descriptors.
    ///
    /// - Throws: As `connect(path:)`.
    package static func connectStream(path: String) throws(TransportError) -> ChannelEndpoint {
        let reading = try connected(path)
        let writing = port_duplicate(reading)
        guard writing >= 0 else {
            let number = errno
            port_close(reading)
            throw .system("duplicating a socket", number)
        }
        return ChannelEndpoint(
            link: .streams(
                input: Link.Stream(descriptor: reading, isSocket: true, isShared: false),
                output: Link.Stream(descriptor: writing, isSocket: true, isShared: false)),
            credentials: .none)
    }

    private static func connected(_ path: String) throws(TransportError) -> CInt {
        try checkPath(path)
        let descriptor = port_connect(path)
        guard descriptor >= 0 else {
            let number = errno
            switch number {
            case ENAMETOOLONG:
                throw TransportError(
                    .pathTooLong, "a part of the path is too long", context: [path], errno: number)
            case ENOENT, ENOTDIR:
                throw TransportError(.notFound, "there is no such socket", context: [path], errno: number)
            // Linux refuses a connection to any file.
            case ENOTSOCK,
                ECONNREFUSED where isOtherFile(path):
                throw TransportError(.wrongDescriptor, "the file is not a socket", context: [path], errno: number)
            case ECONNREFUSED:
                throw TransportError(.nobodyListens, "nobody listens at this socket", context: [path], errno: number)
            case EAGAIN:
                throw TransportError(
                    .listenerBusy, "the listener does not accept: its queue is full", context: [path],
                    errno: number)
            default: throw .system("connecting", number, context: [path])
            }
        }
        return descriptor
    }

    /// Whether there is a file that is not a socket.
    ///
    /// A stale socket may be gone by now, because another process is about to listen there.
    private static func isOtherFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
    }

    /// Both ends of a new connection.
    package static func socketPair() throws(TransportError) -> (ChannelEndpoint, ChannelEndpoint) {
        let (first, second) = try socketPairDescriptors()
        return (
            ChannelEndpoint(link: .socket(first), credentials: .ofSocketpair),
            ChannelEndpoint(link: .socket(second), credentials: .ofSocketpair)
        )
    }

    /// Both ends of a connection over two new pipes.
    package static func pipePair() throws(TransportError) -> (ChannelEndpoint, ChannelEndpoint) {
        let forth = try pipeDescriptors()
        let back: (CInt, CInt)
        do {
            back = try pipeDescriptors()
        } catch {
            port_close(forth.0)
            port_close(forth.1)
            throw error
        }
        return (ownPipes(reading: back.0, writing: forth.1), ownPipes(reading: forth.0, writing: back.1))
    }

    /// An end over a connected socket, which the endpoint owns from now on.
    ///
    /// A standard stream is moved to another number, and reads or writes nothing from then on.
    package static func socket(_ number: CInt) throws(TransportError) -> ChannelEndpoint {
        guard port_kind(number) == CInt(PORT_KIND_SOCKET) else {
            throw TransportError(.wrongDescriptor, "the descriptor is not an open socket")
        }
        let descriptor = try takenOver(number)
        _ = port_set_close_on_exec(descriptor)
        return ChannelEndpoint(
            link: .socket(descriptor), credentials: port_is_unnamed(descriptor) ? .ofSocketpair : .connected)
    }

    /// An end over the socket of a connection that a service manager has accepted for this process.
    package static func activated(as name: String?) throws(TransportError) -> ChannelEndpoint {
        try socket(ActivationSockets.shared.takeConnected(named: name).descriptor)
    }

    /// An end over descriptors inherited from the parent process: one socket, or a pipe to read and one to write.
    ///
    /// The endpoint owns them from now on, and leaves their open descriptions blocking, since others may share them. Standard
    /// streams are moved to other numbers, and read or write nothing from then on.
    package static func inherited(reading: CInt, writing: CInt) throws(TransportError) -> ChannelEndpoint {
        let kinds = (port_kind(reading), port_kind(writing))
        for (descriptor, kind) in [(reading, kinds.0), (writing, kinds.1)] where kind <= CInt(PORT_KIND_OTHER) {
            let what = kind < 0 ? "not open" : "neither a socket nor a pipe"
            throw TransportError(.wrongDescriptor, "Descriptor \(descriptor) is \(what).")
        }
        if kinds.0 == CInt(PORT_KIND_SOCKET), kinds.1 == kinds.0, port_same_file(reading, writing) {
            if writing != reading { port_close(try takenOver(writing)) }
            return try socket(reading)
        }
        guard reading != writing else {
            throw TransportError(.wrongDescriptor, "Descriptor \(reading) is a pipe, which has one direction.")
        }
        let input = try takenOver(reading)
        let output: CInt
        do {
            output = try takenOver(writing)
        } catch {
            if input != reading { port_close(input) }
            throw error
        }
        return ChannelEndpoint(
            link: .streams(
                input: sharedStream(input, kinds.0, isOutput: false),
                output: sharedStream(output, kinds.1, isOutput: true)),
            credentials: .none)
    }

    /// The descriptor under a number that is not that of a standard stream.
    ///
    /// Otherwise what somebody prints would get between the frames, and the next file that is opened after the end of the
    /// connection would become a standard stream.
    private static func takenOver(_ descriptor: CInt) throws(TransportError) -> CInt {
        let taken = port_take_over(descriptor)
        guard taken >= 0 else { throw .system("moving descriptor \(descriptor)", errno) }
        return taken
    }

    /// The process's standard input and output.
    ///
    /// They are moved to private descriptors; 0 then reads nothing, and what is printed to 1 goes to standard error, so
    /// that no `print` gets between the frames.
    package static func standardStreams() throws(TransportError) -> ChannelEndpoint {
        for descriptor: CInt in [0, 1] where port_kind(descriptor) <= CInt(PORT_KIND_OTHER) {
            let name = descriptor == 0 ? "Standard input" : "Standard output"
            throw TransportError(.wrongDescriptor, "\(name) is neither a socket nor a pipe.")
        }
        let reading = port_duplicate(0)
        guard reading >= 0 else { throw .system("duplicating standard input", errno) }
        let writing = port_duplicate(1)
        guard writing >= 0 else {
            let number = errno
            port_close(reading)
            throw .system("duplicating standard output", number)
        }
        guard port_detach_standard_streams() >= 0 else {
            let number = errno
            port_close(reading)
            port_close(writing)
            throw .system("replacing the standard streams", number)
        }
        return try inherited(reading: reading, writing: writing)
    }

    /// The channel the parent process gave this one: what `DISTANT_OBJECTS_CHANNEL` names, `fd:N` or `stdio`.
    package static func parent() throws(TransportError) -> ChannelEndpoint {
        // The channel is taken once, and programs that this process starts have another parent.
        guard let value = ProcessEnvironment.take(ChildProcess.channelVariable) else {
            throw TransportError(.noParent, "this process was given no connection; another program has to launch it")
        }
        if value == "stdio" { return try standardStreams() }
        guard value.hasPrefix("fd:"), let descriptor = CInt(value.dropFirst(3)), descriptor >= 0 else {
            throw TransportError(.noParent, "\(ChildProcess.channelVariable) is neither fd:N nor stdio")
        }
        return try inherited(reading: descriptor, writing: descriptor)
    }

    /// The longest name of a socket in a folder whose path is long.
    private static let longestName = 80

    /// Checks that a path can be that of a socket.
    ///
    /// - Throws: `pathTooLong`; `notFound` if it is empty or contains a zero byte.
    static func checkPath(_ path: String) throws(TransportError) {
        // The folder of a long path is opened, and the socket is a name in it.
        let name = path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        guard path.utf8.count < Int(PATH_MAX), name <= longestName || path.utf8.count <= Int(port_longest_path()) else {
            throw TransportError(
                .pathTooLong,
                "the path of a socket has at most \(PATH_MAX - 1) bytes, and its last part \(longestName); this one has "
                    + "\(path.utf8.count) and \(name)", context: [path])
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw TransportError(
                .notFound, "the path of a socket cannot be empty or contain a zero byte", context: [path])
        }
    }

    static func socketPairDescriptors() throws(TransportError) -> (CInt, CInt) {
        try two("opening a socketpair", port_socketpair)
    }

    /// The reading and the writing end.
    package static func pipeDescriptors() throws(TransportError) -> (CInt, CInt) {
        try two("opening a pipe", port_pipe)
    }

    private static func two(
        _ name: String, _ make: (UnsafeMutablePointer<CInt>?) -> CInt
    ) throws(TransportError) -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        if ends.withUnsafeMutableBufferPointer({ make($0.baseAddress) }) < 0 { throw .system(name, errno) }
        return (ends[0], ends[1])
    }

    /// An end over pipes whose ends no other process has.
    static func ownPipes(reading: CInt, writing: CInt) -> ChannelEndpoint {
        _ = port_set_nonblocking(reading)
        _ = port_set_nonblocking(writing)
        return ChannelEndpoint(
            link: .streams(
                input: Link.Stream(descriptor: reading, isSocket: false, isShared: false),
                output: Link.Stream(descriptor: writing, isSocket: false, isShared: false)),
            credentials: .none)
    }

    /// A stream over an open description that others may share.
    ///
    /// Where the system allows it, a pipe is opened a second time and is then used by this process alone.
    private static func sharedStream(_ descriptor: CInt, _ kind: CInt, isOutput: Bool) -> Link.Stream {
        _ = port_set_close_on_exec(descriptor)
        if kind == CInt(PORT_KIND_SOCKET) {
            return Link.Stream(descriptor: descriptor, isSocket: true, isShared: true)
        }
        let own = port_reopen(descriptor, isOutput)
        guard own >= 0 else {
            if isOutput { _ = port_silence_pipe(descriptor) }
            return Link.Stream(descriptor: descriptor, isSocket: false, isShared: true)
        }
        port_close(descriptor)
        return Link.Stream(descriptor: own, isSocket: false, isShared: false)
    }
}
