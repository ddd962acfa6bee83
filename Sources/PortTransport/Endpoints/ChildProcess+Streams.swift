internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChildProcess {
    /// The standard input, output and error of a child, which the caller closes.
    ///
    /// - Parameters:
    ///   - errors: What becomes its standard error; nil: this process's.
    ///   - theirs: The child's ends of the channel.
    /// - Throws: `launchFailed` if the connection and the options want the same stream; `system`.
    static func streams(
        _ errors: CInt?, _ transport: Transport, _ options: Options, _ theirs: [CInt]
    ) throws(TransportError) -> [CInt] {
        if transport == .pipes, options.standardInput != nil || options.standardOutput != nil {
            throw TransportError(.launchFailed, "over pipes, standard input and output belong to the connection")
        }
        let isPair = transport == .socketpair
        var streams: [CInt] = []
        do throws(TransportError) {
            streams.append(try copy(isPair ? options.standardInput : theirs[0]))
            // One that is closed here is replaced: the first file that the child opens must not become a standard stream.
            let error = try copy(errors ?? (port_kind(2) < 0 ? nil : 2))
            streams.append(error)
            streams.insert(try copy(isPair ? options.standardOutput ?? error : theirs[1]), at: 1)
            return streams
        } catch {
            for descriptor in streams { port_close(descriptor) }
            throw error
        }
    }

    /// A copy of a descriptor, numbered 10 or above; without one, a descriptor that reads and writes nothing.
    private static func copy(_ descriptor: CInt?) throws(TransportError) -> CInt {
        if let descriptor { return try duplicate(descriptor) }
        let null = port_open_null()
        if null < 0 { throw .system("opening /dev/null", errno) }
        return null
    }
}
