internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChildProcess {
    /// The environment of ssh: what it says is read, so it has to be in English.
    private static let language = ["LC_ALL": "C"]

    /// Starts ssh for a command on another machine, whose standard streams are the endpoint.
    ///
    /// - Throws: `invalidName` if a part of the address cannot be used; `notFound` if there is no ssh; as `launch`.
    package static func launch(
        _ shell: SecureShell, loop: EventLoop = .shared
    ) throws(TransportError) -> (ChildProcess, ChannelEndpoint) {
        let arguments = try shell.arguments(by: nil)
        let errors = try ProcessOutput(prefix: nil)
        defer { errors.closeWriting() }
        return try launch(
            inSearchPath("ssh"), arguments: arguments, environment: language, standardError: errors.writing,
            over: .pipes, session: SecureShellSession(shell, errors, leash: -1), loop: loop)
    }

    /// Starts ssh so that a socket here leads to one on another machine.
    ///
    /// ssh does not notice when this process is gone, so on Linux the kernel ends it then.
    ///
    /// - Parameter local: The path at which ssh listens here.
    /// - Throws: As `launch`.
    package static func launchTunnel(
        _ shell: SecureShell, at local: String, loop: EventLoop = .shared
    ) throws(TransportError) -> ChildProcess {
        let words = try arguments(inSearchPath("ssh"), shell.arguments(by: local), Options())
        let variables = try variables(language, Options(), own: [:])
        let errors = try ProcessOutput(prefix: nil)
        defer { errors.closeWriting() }
        let (reading, writing) = try ChannelEndpoint.pipeDescriptors()
        defer { port_close(reading) }
        let session = SecureShellSession(shell, errors, leash: writing)
        var options = Options()
        options.standardInput = reading
        let streams = try streams(errors.writing, .socketpair, options, [])
        defer { for descriptor in streams { port_close(descriptor) } }
        let pid = try start("ssh", words, variables, in: nil, streams, PORT_GROUP_OWN)
        port_process_end_with_writer(pid, reading)
        let child = ChildProcess(pid: pid, endsGroup: false, session: session)
        child.whenExited { _ in session.letGo() }
        child.watch(loop)
        return child
    }

    /// The path of a program in the folders that PATH lists.
    private static func inSearchPath(_ name: String) throws(TransportError) -> [UInt8] {
        let folders = ProcessEnvironment.value(of: "PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        for folder in folders.split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/\(name)"
            var status = stat()
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 {
                return Array(path.utf8)
            }
        }
        throw TransportError(
            .launchFailed, "there is no program \(name) in the folders that PATH lists", context: [name])
    }

    /// The last lines of its standard error, at most 64 KiB, if this process keeps them: for `ssh`, which a connection to another
    /// machine uses, with those of the command there; otherwise empty.
    public var lastErrorLines: String { session?.errors.lines ?? "" }
}
