internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
    internal import MachO
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

    /// The process's number.
    public let pid: Int32
    /// A descriptor that is readable once the process has ended; -1 where the system has no such descriptor, and after
    /// the process was reaped.
    private var descriptor: CInt
    private let lock = Lock()
    private var exit: ExitStatus?
    private var watchers: [@Sendable (ExitStatus) -> Void] = []

    private init(pid: Int32) {
        self.pid = pid
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
    ///   - environment: The child's whole environment; nil: this process's.
    ///   - directory: Where the child starts; nil: where this process is.
    ///   - standardError: What the child has as its standard error, borrowed for the time of the call; nil: this process's.
    package static func launch(
        _ path: String, arguments: [String] = [], environment: [String: String]? = nil, in directory: String? = nil,
        standardError: CInt? = nil, over transport: Transport = .socketpair, loop: EventLoop = .shared
    ) throws(TransportError) -> (ChildProcess, ChannelEndpoint) {
        let (mine, theirs) = try ends(transport)
        defer { for descriptor in theirs where descriptor >= 0 { port_close(descriptor) } }
        let errors = try standardError.map { number throws(TransportError) in try duplicate(number) } ?? -1
        defer { if errors >= 0 { port_close(errors) } }
        var pid: pid_t = 0
        let isPair = transport == .socketpair
        let variables = self.variables(environment, isPair ? "fd:3" : "stdio")
        let result = withStrings([path] + arguments) { arguments in
            withStrings(variables) { variables in
                port_spawn(
                    path, arguments, variables, directory, isPair ? -1 : theirs[0], isPair ? -1 : theirs[1], errors,
                    isPair ? theirs[0] : -1, &pid)
            }
        }
        guard result == 0 else {
            throw TransportError(
                .launchFailed, "\(path) could not be started: \(TransportError.reason(result))", context: [path],
                errno: result)
        }
        let child = ChildProcess(pid: pid)
        child.watch(loop)
        return (child, mine)
    }

    /// The path of a program: a name without a slash is looked up beside this process's own program, a relative path
    /// counts from the current directory.
    package static func located(_ name: String) throws(TransportError) -> String {
        guard !name.contains("/") else { return name.hasPrefix("/") ? name : absolute(name) }
        guard let own = ownPath(), let slash = own.lastIndex(of: "/") else {
            throw TransportError(
                .launchFailed, "\(name) cannot be looked for beside this program, whose place is unknown")
        }
        let path = own[...slash] + name
        guard access(String(path), X_OK) == 0 else {
            throw TransportError(
                .launchFailed,
                "there is no program \(path): a name without a slash is looked for beside this program's own",
                context: [name])
        }
        return String(path)
    }

    private static func absolute(_ path: String) -> String {
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return "\(String(cString: current))/\(path)"
    }

    /// The file this process runs.
    private static func ownPath() -> String? {
        #if canImport(Darwin)
            var size: UInt32 = 0
            _ = _NSGetExecutablePath(nil, &size)
            var buffer = [CChar](repeating: 0, count: Int(size) + 1)
            guard _NSGetExecutablePath(&buffer, &size) == 0 else { return nil }
            guard let real = realpath(buffer, nil) else { return nil }
        #else
            guard let real = realpath("/proc/self/exe", nil) else { return nil }
        #endif
        defer { free(real) }
        return String(cString: real)
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

    /// Sends a signal.
    ///
    /// Does nothing if the process has ended.
    public func send(_ signal: Int32) {
        // Under the lock, which the reaper also takes: meanwhile the number cannot be given to another process.
        lock.withLock {
            if exit == nil { _ = port_process_signal(pid, descriptor, signal) }
        }
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
    private func watch(_ loop: EventLoop) {
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

    /// A descriptor of the same file, numbered 10 or above.
    private static func duplicate(_ descriptor: CInt) throws(TransportError) -> CInt {
        let copy = port_duplicate(descriptor)
        if copy < 0 { throw .system("duplicating a descriptor", errno) }
        return copy
    }

    private static func variables(_ environment: [String: String]?, _ channel: String) -> [String] {
        var variables: [String] = []
        if let environment {
            variables = environment.filter { $0.key != channelVariable }.map { "\($0.key)=\($0.value)" }
        } else {
            var entry = port_environment()
            while let text = entry?.pointee {
                let variable = String(cString: text)
                if !variable.hasPrefix("\(channelVariable)=") { variables.append(variable) }
                entry = entry?.advanced(by: 1)
            }
        }
        return variables + ["\(channelVariable)=\(channel)"]
    }

    private static func withStrings<R>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { body(UnsafePointer($0.baseAddress.unsafelyUnwrapped)) }
    }
}
