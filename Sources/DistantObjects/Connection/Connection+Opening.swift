public import PortTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Connection {
    /// The address of a listener.
    public typealias Address = ConnectionAddress

    /// The transport between two ends in one process.
    public enum PairTransport: Sendable {
        /// A socketpair, which can transfer descriptors and credentials.
        case socketpair
        /// Two pipes.
        case pipes
    }

    /// Connects to a listener, a program, or another machine, and starts the program if the address says so.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - timeout: How long to retry while no process listens there; zero, the default, for no retries. While the listener's
    ///     queue is full, `Configuration.handshakeTimeout` at least. The pause between retries grows from 1 to 50
    ///     milliseconds. No thread is blocked. An address that starts a program, or of another machine, has a limit of its own.
    ///   - configuration: The configuration of the connection.
    /// - Returns: A connection that both sides have accepted.
    /// - Throws: `ConnectionError.transport` if no process listens there or the address cannot be used, with a `TransportError`
    ///   in `underlying` (`.notFound`, `.nobodyListens` and `.listenerBusy` are those that are retried; `.unreachable` and
    ///   `.accessDenied` come from `ssh`, and are not); `.closed` if the peer ends first; `.peerRefused`; `.protocolViolation`; `.handshakeTimeout`; `CancellationError`.
    public static func open(
        _ address: Address, timeout: Duration = .zero, configuration: Configuration = .init()
    ) async throws -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? address.description
        switch address.kind {
        case .program(let program, let arguments):
            return try await launch(program, arguments: arguments, configuration: configuration)
        case .shell(let shell): return try await open(shell, configuration)
        case .path, .service(_, nil): return try await open(address, timeout, configuration)
        case .service(_, .some): return try await openStarting(address, timeout, configuration)
        }
    }

    // The service may be ending, or dying, when it is connected to. Nothing has run then, and the next one is started.
    private static func openStarting(
        _ address: Address, _ timeout: Duration, _ configuration: Configuration
    ) async throws -> Connection {
        for _ in 1...3 {
            do { return try await open(address, timeout, configuration) } catch let error as ConnectionError
                where error.code == .closed
            {}
        }
        return try await open(address, timeout, configuration)
    }

    private static func open(
        _ address: Address, _ timeout: Duration, _ configuration: Configuration
    ) async throws -> Connection {
        let endpoint = try await Dialing.connect(
            to: address, timeout: timeout, forRoom: max(timeout, configuration.handshakeTimeout))
        return try await establish(endpoint, configuration, isInitiator: true)
    }

    /// How long another machine may be silent until it gets a ping, if the user does not say.
    private static let silenceOfMachines = Duration.seconds(15)

    private static func open(_ shell: SecureShell, _ configuration: Configuration) async throws -> Connection {
        var configuration = configuration
        configuration.keepalive = configuration.keepalive ?? silenceOfMachines
        _ = try eventLoop(configuration)
        let patience = configuration.exitTimeout ?? .seconds(1)
        return try await ShellDialing(shell).connect { endpoint, child in
            let connection = try await establish(
                endpoint, configuration, isInitiator: true, child: child, within: shell.limit)
            _ = connection.add { [loop = connection.loop] end in child.endShell(after: end, patience, on: loop) }
            if !shell.isTunnel { connection.watchChild() }
            return connection
        }
    }

    /// Starts a helper process and connects to it.
    ///
    /// Close the connection when you are done: the helper runs as long as it is open, even if nothing refers to it any more.
    /// A ``Helper`` does that, and replaces a helper that has died.
    ///
    /// The helper calls `Connection.parent()`. It should wait for its connection's `ended` and then exit. `close()` waits for
    /// that, and ends a helper that does not exit: see `Configuration.exitTimeout`.
    ///
    /// The connection ends with the process that has sent the first bytes over a socketpair, even if another process holds its
    /// end. Over pipes it is not known which process that is. If the launched process exits, and other processes hold its ends
    /// of the pipes, the peer has to answer a ping within `Configuration.handshakeTimeout`. A process that goes on in place of
    /// the launched one is reported by the event `childExited`.
    ///
    /// Unless `options` says otherwise, the helper reads nothing from its standard input, its standard output is its standard
    /// error, and it has a process group of its own: Ctrl-C in a terminal goes to this process alone, and the helper ends
    /// because its connection does.
    ///
    /// - Parameters:
    ///   - executable: The path of the program. A name without a slash is looked up next to this program's executable, where
    ///     that was when this program started.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Variables in addition to those of this process.
    ///   - directory: The working directory of the helper; `nil` for that of this process.
    ///   - standardError: A descriptor for the helper's standard error, borrowed until this returns; `nil` for that of this
    ///     process.
    ///   - transport: A socketpair, or the helper's standard input and output, which then belong to the connection.
    ///   - options: What else the helper gets from this process.
    ///   - configuration: The configuration of the connection.
    /// - Returns: A connection that both sides have accepted. Its `child` is the process.
    /// - Throws: `ConnectionError.transport` if the program cannot be started, or a string contains a zero byte; `.closed` if it
    ///   ends first; `.peerRefused`; `.protocolViolation`; `.handshakeTimeout`; `CancellationError`. The process is ended then, and
    ///   killed if it still runs after a second.
    public static func launch(
        _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: String? = nil,
        standardError: CInt? = nil, over transport: ChildProcess.Transport = .socketpair,
        options: ChildProcess.Options = .init(), configuration: Configuration = .init()
    ) async throws -> Connection {
        let launch = ProgramLaunch(
            executable: executable, arguments: arguments, environment: environment, directory: directory,
            standardError: standardError, transport: transport, options: options, configuration: configuration)
        do { return try await launch.connect() } catch { throw error.error }
    }

    /// Opens, in a helper, the connection to the process that launched it.
    ///
    /// - Parameter configuration: The configuration of the connection.
    /// - Throws: `ConnectionError.transport` if this process was not started by `launch`; others as `open`; `CancellationError`.
    public static func parent(configuration: Configuration = .init()) async throws -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? "parent"
        let endpoint = try transporting("parent") { try ChannelEndpoint.parent() }
        let connection = try await establish(endpoint, configuration, isInitiator: false)
        connection.channel.watchLauncher()
        LauncherWatch.start()
        _ = connection.add { end in if case .lost = end { LauncherWatch.connectionWasCut() } }
        return connection
    }

    /// Opens the connection that a service manager such as systemd has accepted for this process (`Accept=yes`).
    ///
    /// The environment variables `LISTEN_PID`, `LISTEN_PIDFDID`, `LISTEN_FDS` and `LISTEN_FDNAMES` describe the socket. They are read
    /// once and unset.
    ///
    /// - Parameters:
    ///   - name: The service manager's name of the socket; `nil` for the first that is not used yet.
    ///   - configuration: The configuration of the connection.
    /// - Throws: `ConnectionError.transport` if no such socket was passed, or it is not connected; others as `open`;
    ///   `CancellationError`.
    public static func activated(
        as name: String? = nil, configuration: Configuration = .init()
    ) async throws -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? name ?? "activation"
        let endpoint = try transporting(name ?? "activation") { try ChannelEndpoint.activated(as: name) }
        return try await establish(endpoint, configuration, isInitiator: false)
    }

    /// Opens a connection over a connected socket.
    ///
    /// - Parameters:
    ///   - descriptor: The socket. The connection owns it. A standard stream is moved to another number, and reads or writes
    ///     nothing from then on.
    ///   - isInitiator: Whether this side sends its Hello first. This must be true on exactly one side.
    ///   - configuration: The configuration of the connection.
    ///
    /// - Throws: `ConnectionError` if it is not such a socket, or the other side does not greet; `CancellationError`.
    public static func adopt(
        socket descriptor: CInt, isInitiator: Bool, configuration: Configuration = .init()
    ) async throws -> Connection {
        let endpoint = try transporting("descriptor \(descriptor)") {
            try ChannelEndpoint.socket(descriptor)
        }
        return try await establish(endpoint, configuration, isInitiator: isInitiator)
    }

    /// Opens a connection over two pipe ends.
    ///
    /// - Parameters:
    ///   - reading: The end to read from. The connection owns it. A standard stream is moved to another number, and reads or
    ///     writes nothing from then on.
    ///   - writing: The end to write to, likewise.
    ///   - isInitiator: Whether this side sends its Hello first. This must be true on exactly one side.
    ///   - configuration: The configuration of the connection.
    ///
    /// - Throws: `ConnectionError` if these are not such ends, or the other side does not greet; `CancellationError`.
    public static func adopt(
        reading: CInt, writing: CInt, isInitiator: Bool, configuration: Configuration = .init()
    ) async throws -> Connection {
        let endpoint = try transporting("descriptors \(reading) and \(writing)") {
            try ChannelEndpoint.inherited(reading: reading, writing: writing)
        }
        return try await establish(endpoint, configuration, isInitiator: isInitiator)
    }

    /// Makes two connected ends in this process, for tests and for parts that may become processes later.
    ///
    /// - Parameters:
    ///   - transport: The transport between the two ends.
    ///   - first: The configuration of the first end, which sends its Hello first.
    ///   - second: The configuration of the second end.
    /// - Returns: Both ends, each of which has accepted the other.
    /// - Throws: `ConnectionError` if the system has no more descriptors.
    public static func pair(
        over transport: PairTransport = .socketpair, first: Configuration = .init(), second: Configuration = .init()
    ) async throws -> (Connection, Connection) {
        let (one, other) = try transporting("pair") {
            switch transport {
            case .socketpair: try ChannelEndpoint.socketPair()
            case .pipes: try ChannelEndpoint.pipePair()
            }
        }
        let initiator = try make(one, first, isInitiator: true)
        let acceptor = try make(other, second, isInitiator: false)
        acceptor.begin()
        initiator.begin()
        do {
            try await initiator.handshake()
            try await acceptor.handshake()
        } catch {
            initiator.invalidate()
            acceptor.invalidate()
            throw error
        }
        return (initiator, acceptor)
    }

    // MARK: Making

    package static func make(
        _ endpoint: ChannelEndpoint, _ configuration: Configuration, isInitiator: Bool, child: ChildProcess? = nil
    ) throws -> Connection {
        try make(endpoint, SharedConfiguration(configuration), isInitiator: isInitiator, child: child)
    }

    static func make(
        _ endpoint: ChannelEndpoint, _ shared: SharedConfiguration, isInitiator: Bool, child: ChildProcess? = nil
    ) throws -> Connection {
        let configuration = shared.value
        let loop = try configuration.loop ?? eventLoop(configuration)
        // No message can carry descriptors.
        var bounds = ChannelConfiguration(
            maximumMessage: UInt64(configuration.limits.message), acceptsDescriptors: false,
            answerKind: FrameKind.return.rawValue, countedKinds: 1 << UInt32(FrameKind.failed.rawValue))
        bounds.asksKernel = configuration.asksKernel
        bounds.window = configuration.window
        bounds.sizes = configuration.sizes
        let channel = Channel(endpoint: endpoint, loop: loop, configuration: bounds)
        return Connection(
            channel: channel, configuration: shared, isInitiator: isInitiator, child: child)
    }

    /// Refuses a peer with a reason, without a handshake, and closes.
    static func refuse(_ endpoint: ChannelEndpoint, _ reason: String, loop: any PortLoop) {
        let channel = Channel(
            endpoint: endpoint, loop: loop, configuration: ChannelConfiguration(acceptsDescriptors: false))
        var prefix = PrefixBuffer()
        GoodbyeFrame(entered: 0, .refused, reason).append(to: &prefix)
        _ = channel.enqueue(kind: FrameKind.goodbye.rawValue, flags: 0, prefix: prefix.bytes)
        channel.flushAndCancel(.byThisSide)
    }

    static func establish(
        _ endpoint: ChannelEndpoint, _ configuration: Configuration, isInitiator: Bool,
        child: ChildProcess? = nil, within limit: Duration? = nil
    ) async throws -> Connection {
        let connection = try make(endpoint, configuration, isInitiator: isInitiator, child: child)
        connection.begin(within: limit)
        try await connection.handshake()
        return connection
    }

    /// The loops that do not poll as the process's loop does, one for each setting.
    private static let loops = Mutex<[ConnectionPolling: EventLoop]>([:])

    static func eventLoop(_ configuration: Configuration) throws -> EventLoop {
        let loop = try loop(configuration.polling)
        LoopWatch.shared.watch(loop)
        return loop
    }

    private static func loop(_ polling: ConnectionPolling) throws -> EventLoop {
        if polling == .adaptive { return try transporting("event loop") { try EventLoop.started() } }
        return try loops.withLock { loops in
            if let known = loops[polling], known.isAlive { return known }
            let made = try transporting("event loop") { try EventLoop(configuration: .init(polling: polling.mode)) }
            loops[polling] = made
            return made
        }
    }

    /// Converts an error of the transport into a `ConnectionError` with a context.
    static func transporting<Result>(_ context: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as TransportError {
            throw ConnectionError(.transport, error.message, context: context, underlying: error)
        }
    }
}

extension Connection: LoopUser {
    /// Waits until both sides have accepted each other.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first, which also ends the connection.
    package func handshake() async throws {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let outcome = life.withLock { life -> Result<Void, any Error>? in
                    if let opening = life.opening { opening.waiter = continuation }
                    return life.handshakeOutcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            handshakeEnded(CancellationError())
            invalidate()
        }
        // Both sides may have accepted each other before a cancelled task came here, and the handler above ends the connection.
        guard !Task.isCancelled else {
            invalidate()
            throw CancellationError()
        }
    }

    /// Starts reading, sends the `Hello` of an initiator, and starts the timer of the handshake.
    ///
    /// - Parameter limit: How long the handshake may take; nil for `Configuration.handshakeTimeout`.
    package func begin(within limit: Duration? = nil) {
        if settings.onEvent != nil { LoopWatch.shared.add(self) }
        channel.start(self)
        if isInitiator {
            let canShare = channel.canShare
            state.withLock { $0.session.writeHello(isInitiator: true, sharesMemory: canShare) }
            channel.setNeedsFlush()
        }
        let timeout = max(limit ?? .zero, settings.handshakeTimeout)
        // The timer is cancelled when the handshake ends.
        let timer = loop.addTimer(after: timeout) { [self] in
            guard life.withLock({ $0.handshakeOutcome == nil }) else { return }
            state.withLock { $0.session.writeGoodbye(.tooSlow, "no Hello came within \(timeout)") }
            handshakeEnded(
                ConnectionError(
                    .handshakeTimeout, "the peer did not finish the handshake within \(timeout)", context: name))
            endAfterGoodbye(.refusedHere("no Hello came within \(timeout)"))
        }
        let isOver = life.withLock { life in
            life.opening?.timer = timer
            return life.opening == nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    /// Ends the connection because this side no longer wants its peer.
    func refuse(because reason: String) {
        state.withLock { $0.session.writeGoodbye(.refused, reason) }
        handshakeEnded(ConnectionError(.peerRefused, reason, context: name))
        endAfterGoodbye(.refusedHere(reason))
    }

    /// Calls the hook when the handshake has ended, with whether it succeeded.
    func whenHandshakeEnds(_ hook: @escaping @Sendable (Bool) -> Void) {
        let outcome = life.withLock { life in
            life.opening?.hook = hook
            return life.handshakeOutcome
        }
        switch outcome {
        case .success: hook(true)
        case .failure: hook(false)
        case nil: break
        }
    }

    func handshakeEnded(_ error: (any Error)?) {
        guard let over = life.withLock({ $0.endHandshake(error) }) else { return }
        if let timer = over.timer { loop.cancelTimer(timer) }
        over.hook?(error == nil)
        if let error { over.waiter?.resume(throwing: error) } else { over.waiter?.resume() }
    }
}
