internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A program that this process has started, and how it ended.
///
/// It is reaped when it ends, even if nothing refers to this object any more, so no zombie stays.
public final class ChildProcess: @unchecked Sendable {  // `lock` protects `descriptor`, `exit` and `watchers`.
    /// The connection between parent and child.
    public enum Transport: Sendable, Hashable {
        /// A socketpair, descriptor 3 of the child. Carries descriptors and credentials.
        case socketpair
        /// Pipes that are the child's standard input and output, which then can go through `ssh` and the like.
        case pipes
    }

    /// How a process ended.
    public enum ExitStatus: Sendable, Hashable {
        /// It returned or called `exit` with this code.
        case exited(Int32)
        /// A signal of this number ended it.
        case signalled(Int32)
        /// Other code in this process has reaped it.
        case unknown
    }

    /// The environment variable that tells the child where its channel is.
    package static let channelVariable = "DISTANT_OBJECTS_CHANNEL"

    /// The environment variable that tells the child to end with the process of that number.
    package static let launcherVariable = "DISTANT_OBJECTS_LAUNCHER"

    /// The environment variable that names the further descriptors of the child: the number of the first one, and the names of those
    /// that follow each other from there.
    package static let descriptorsVariable = "DISTANT_OBJECTS_DESCRIPTORS"

    /// The process's number.
    public let pid: Int32
    /// The value of its `launchVariable`; nil for a program that is meant to go on without this process.
    let launchName: String?
    /// Whether the rest of its group is killed when it has ended.
    private let endsGroup: Bool
    /// What belongs to it if it is `ssh`.
    package let session: SecureShellSession?
    /// A descriptor that is readable once the process has ended; -1 where the system has no such descriptor, and after
    /// the process was reaped.
    private var descriptor: CInt
    private let lock = Lock()
    private var exit: ExitStatus?
    private var watchers: [@Sendable (ExitStatus) -> Void] = []

    init(pid: Int32, launchName: String? = nil, endsGroup: Bool, session: SecureShellSession? = nil) {
        self.pid = pid
        self.launchName = launchName
        self.session = session
        self.endsGroup = endsGroup
        descriptor = port_process_descriptor(pid)
    }

    deinit {
        if descriptor >= 0 { port_close(descriptor) }
        lock.destroy()
    }

    /// Starts the program at `path`, which finds its end of the channel with `ChannelEndpoint.parent()`.
    ///
    /// - Parameters:
    ///   - path: As `located(_:)` gives it.
    ///   - environment: Variables in addition to this process's.
    ///   - directory: Where the child starts; nil: where this process is.
    ///   - standardError: What the child has as its standard error, borrowed for the time of the call; nil: this process's.
    /// - Throws: `launchFailed` if the program cannot be started, or a string contains a zero byte; `system`.
    package static func launch(
        _ path: [UInt8], arguments: [String] = [], environment: [String: String] = [:], in directory: String? = nil,
        standardError: CInt? = nil, over transport: Transport = .socketpair, options: Options = Options(),
        session: SecureShellSession? = nil, loop: EventLoop = .shared
    ) throws(TransportError) -> (ChildProcess, ChannelEndpoint) {
        let name = String(decoding: path, as: UTF8.self)
        if let directory, directory.utf8.contains(0) {
            throw TransportError(.launchFailed, "the path of the directory contains a zero byte", context: [name])
        }
        let isPair = transport == .socketpair
        let passed = try PassedNames(options.descriptors, first: isPair ? 4 : 3)
        var own = passed.variables
        own[channelVariable] = isPair ? "fd:3" : "stdio"
        let launchName = launchName()
        own[launchVariable] = launchName
        if options.endsWithLauncher { own[launcherVariable] = "\(getpid())" }
        let words = try self.arguments(path, arguments, options)
        let variables = try self.variables(environment, options, own: own)
        let (mine, theirs) = try ends(transport)
        defer { for descriptor in theirs { port_close(descriptor) } }
        let streams = try streams(standardError, transport, options, theirs)
        defer { for descriptor in streams { port_close(descriptor) } }
        let further = try passed.copies()
        defer { for descriptor in further { port_close(descriptor) } }
        let pid = try start(
            name, words, variables, in: directory, streams + (isPair ? theirs : []) + further,
            options.sharesProcessGroup ? PORT_GROUP_SHARED : PORT_GROUP_OWN)
        let child = ChildProcess(
            pid: pid, launchName: launchName, endsGroup: options.endsGroup && !options.sharesProcessGroup,
            session: session)
        child.watch(loop)
        return (child, mine)
    }

    /// Starts a program that goes on without this process: in a session of its own, without a channel.
    ///
    /// It reads nothing from its standard input.
    ///
    /// - Parameters:
    ///   - output: What becomes its standard output and error, borrowed; nil: nothing.
    ///   - options: Of these, arguments, variables and descriptors count.
    /// - Throws: As `launch`.
    static func launchDetached(
        _ path: [UInt8], arguments: [String], environment: [String: String], in directory: String?, output: CInt?,
        options: Options, loop: EventLoop
    ) throws(TransportError) -> ChildProcess {
        let passed = try PassedNames(options.descriptors, first: 3)
        let words = try self.arguments(path, arguments, options)
        let variables = try self.variables(environment, options, own: passed.variables)
        var streams = Options()
        streams.standardOutput = output
        let null = port_open_null()
        if null < 0 { throw .system("opening /dev/null", errno) }
        defer { port_close(null) }
        let standard = try self.streams(output ?? null, .socketpair, streams, [])
        defer { for descriptor in standard { port_close(descriptor) } }
        let further = try passed.copies()
        defer { for descriptor in further { port_close(descriptor) } }
        let pid = try start(
            String(decoding: path, as: UTF8.self), words, variables, in: directory, standard + further, PORT_SESSION_OWN
        )
        let child = ChildProcess(pid: pid, endsGroup: false)
        child.watch(loop)
        return child
    }

    static func start(
        _ name: String, _ words: SystemStrings, _ variables: SystemStrings, in directory: String?,
        _ descriptors: [CInt], _ group: port_group
    ) throws(TransportError) -> pid_t {
        var pid: pid_t = 0
        let result = words.withPointers { words in
            variables.withPointers { variables in
                descriptors.withUnsafeBufferPointer { descriptors in
                    func spawn(_ directory: UnsafePointer<CChar>?) -> CInt {
                        var start = port_program_start(
                            arguments: words, environment: variables, directory: directory,
                            descriptors: descriptors.baseAddress, count: CInt(descriptors.count), group: group)
                        return port_spawn(&start, &pid)
                    }
                    return directory?.withCString(spawn) ?? spawn(nil)
                }
            }
        }
        guard result == 0 else {
            throw TransportError(
                .launchFailed, "the program could not be started: \(TransportError.reason(result))", context: [name],
                errno: result)
        }
        return pid
    }

    /// Starts a program whose path is UTF-8.
    ///
    /// - Throws: As the other function.
    package static func launch(
        _ path: String, arguments: [String] = [], environment: [String: String] = [:], in directory: String? = nil,
        standardError: CInt? = nil, over transport: Transport = .socketpair, options: Options = Options(),
        loop: EventLoop = .shared
    ) throws(TransportError) -> (ChildProcess, ChannelEndpoint) {
        try launch(
            Array(path.utf8), arguments: arguments, environment: environment, in: directory,
            standardError: standardError, over: transport, options: options, loop: loop)
    }

    /// How the process ended; nil while it runs.
    public var exitStatus: ExitStatus? { lock.withLock { exit } }

    /// Waits until the process has ended.
    public func waitForExit() async -> ExitStatus {
        await withCheckedContinuation { continuation in
            whenExited { continuation.resume(returning: $0) }
        }
    }

    /// Asks the process to end (`SIGTERM`).
    ///
    /// Does nothing if it has ended.
    public func terminate() { send(SIGTERM) }

    /// Ends the process at once (`SIGKILL`).
    ///
    /// Does nothing if it has ended.
    public func kill() { send(SIGKILL) }

    /// Ends the process at once, and all others of the group that it leads.
    func killGroup() {
        lock.withLock {
            if exit == nil { port_group_kill(pid) }
        }
    }

    /// Sends a signal.
    ///
    /// Does nothing if the process has ended.
    public func send(_ signal: Int32) {
        // Under the lock, which the reaper also takes: meanwhile the number cannot be given to another process.
        lock.withLock {
            if exit == nil { _ = port_process_signal(pid, descriptor, signal) }
        }
    }

    /// The signal by which its terminal has stopped the process, if it is stopped now for that reason.
    package var terminalStop: Int32? {
        let signal = lock.withLock { exit == nil ? port_process_stop(pid) : 0 }
        return [SIGTSTP, SIGTTIN, SIGTTOU].contains(signal) ? signal : nil
    }

    /// Calls `action` on the loop when the process has ended; at once if it has.
    package func whenExited(_ action: @escaping @Sendable (ExitStatus) -> Void) {
        let status = lock.withLock { () -> ExitStatus? in
            if exit == nil { watchers.append(action) }
            return exit
        }
        if let status { action(status) }
    }

    /// Reaps the process if it has ended.
    ///
    /// - Returns: A closure that resumes the waiters, to be called once with no lock held; `nil` if the process runs or
    ///   was reaped before.
    private func reap() -> (@Sendable () -> Void)? {
        lock.withLock {
            guard exit == nil else { return nil }
            var status: Int32 = 0
            // Until it is reaped, no other group has its number.
            if endsGroup, port_process_look(pid, &status) == 1 { port_group_kill(pid) }
            let result = port_process_reap(pid, &status)
            guard result != 0 else { return nil }
            let ended: ExitStatus = result < 0 ? .unknown : status < 0 ? .signalled(-status) : .exited(status)
            exit = ended
            let watchers = self.watchers
            self.watchers = []
            return { for watcher in watchers { watcher(ended) } }
        }
    }

    /// Closes the descriptor.
    ///
    /// It is not needed once the process is reaped, and this object may be kept for long.
    private func closeDescriptor() {
        lock.withLock {
            if descriptor >= 0 { port_close(descriptor) }
            descriptor = -1
        }
    }

    /// Holds the object until the process is reaped.
    func watch(_ loop: EventLoop) {
        if descriptor >= 0 {
            let watcher = Watcher(child: self, descriptor: descriptor, loop: loop)
            if (try? watcher.start()) != nil { return }
        }
        // Without a descriptor to poll, a thread waits.
        let retained = Unmanaged.passRetained(self)
        let result = port_thread_start(
            { context in
                guard let context else { return nil }
                let child = Unmanaged<ChildProcess>.fromOpaque(context).takeRetainedValue()
                port_process_await(child.pid)
                let notify = child.reap()
                child.closeDescriptor()
                notify?()
                return nil
            }, retained.toOpaque(), "distant-reap")
        if result != 0 { retained.release() }
    }

    private final class Watcher: PollHandler, @unchecked Sendable {  // `lock` protects `source`.
        private let child: ChildProcess
        private let descriptor: CInt
        private let loop: EventLoop
        private let lock = Lock()
        private var source: UInt64 = 0

        init(child: ChildProcess, descriptor: CInt, loop: EventLoop) {
            self.child = child
            self.descriptor = descriptor
            self.loop = loop
        }

        deinit { lock.destroy() }

        func start() throws(TransportError) {
            try lock.withLock { () throws(TransportError) in
                source = try loop.addSource(descriptor, interest: UInt32(PORT_READABLE), self)
            }
        }

        func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
            // A loop whose poller fails also calls sources that are not ready. Only the first call reaps.
            guard let notify = child.reap() else { return nil }
            lock.withLock {
                loop.removeSource(source, descriptor, interest: UInt32(PORT_READABLE))
            }
            child.closeDescriptor()
            // The waiters are user code.
            loop.perform(notify)
            return nil
        }
    }

    // MARK: Making the child's surroundings

    /// This side's endpoint, and the child's descriptors: one socket, or its input and its output.
    private static func ends(_ transport: Transport) throws(TransportError) -> (ChannelEndpoint, [CInt]) {
        switch transport {
        case .socketpair:
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let endpoint = ChannelEndpoint(link: .socket(mine), credentials: .ofSocketpair)
            return (endpoint, [try moved(theirs)])
        case .pipes:
            let input = try ChannelEndpoint.pipeDescriptors()
            let output: (CInt, CInt)
            do {
                output = try ChannelEndpoint.pipeDescriptors()
            } catch {
                port_close(input.0)
                port_close(input.1)
                throw error
            }
            let endpoint = ChannelEndpoint.ownPipes(reading: output.0, writing: input.1)
            let reading = try moved(input.0)
            do {
                return (endpoint, [reading, try moved(output.1)])
            } catch {
                port_close(reading)
                throw error
            }
        }
    }

    /// The descriptor under a number that is none of the child's standard streams.
    private static func moved(_ descriptor: CInt) throws(TransportError) -> CInt {
        if descriptor >= 10 { return descriptor }
        defer { port_close(descriptor) }
        return try duplicate(descriptor)
    }

    /// A descriptor of the same file, numbered `least` or above.
    static func duplicate(_ descriptor: CInt, least: CInt = 10) throws(TransportError) -> CInt {
        let copy = port_duplicate_above(descriptor, least)
        if copy < 0 { throw .system("duplicating a descriptor", errno) }
        return copy
    }
}
