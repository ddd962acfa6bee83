public import PortTransport
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Connection {
    /// Where a listener is found.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        let path: String

        /// A Unix domain socket at that path.
        public static func path(_ path: String) -> Address { Address(path: path) }

        /// The path.
        public var description: String { path }
    }

    /// How two ends in one process are joined.
    public enum PairTransport: Sendable {
        /// A socketpair: descriptors and credentials can travel.
        case socketpair
        /// Two pipes.
        case pipes
    }

    /// Connects to a listener.
    ///
    /// - Parameters:
    ///   - address: Where it listens.
    ///   - limit: How long to wait for somebody to listen there, as a process that was just started will, or for room in the
    ///     queue of a listener that has not accepted others yet. `nil`: the first not at all, the second as long as the
    ///     handshake may take (`Configuration.handshakeTimeout`). It is looked at again after a millisecond, and then less
    ///     and less often, at last every 50. No thread waits.
    ///   - configuration: Bounds, rules and hooks of the connection.
    /// - Returns: When both sides have accepted each other.
    /// - Throws: `ConnectionError.transport` if nobody listens there or the path cannot be used (which of them says the
    ///   `TransportError` in `underlying`: `.notFound`, `.nobodyListens` and `.listenerBusy` are what is waited for),
    ///   `.closed` if the peer ends first, `.peerRefused`, `.protocolViolation`, `.handshakeTimeout`; `CancellationError`
    ///   while it waits.
    public static func open(
        _ address: Address, waitingUpTo limit: Duration? = nil, configuration: Configuration = .init()
    ) async throws -> Connection {
        let endpoint = try await connect(
            to: address, waitingUpTo: limit, orForRoom: limit ?? configuration.handshakeTimeout)
        var configuration = configuration
        configuration.name = configuration.name ?? address.path
        return try await establish(endpoint, configuration, isInitiator: true)
    }

    /// Starts a helper process and connects to it; the helper calls `Connection.parent()`.
    ///
    /// - Parameters:
    ///   - executable: The path of the program; a name without a slash stands beside this program's own file.
    ///   - arguments: What follows the program's name.
    ///   - environment: Variables set besides those of this process.
    ///   - directory: Where the helper starts; `nil`: where this process is.
    ///   - standardError: A descriptor that becomes the helper's standard error; borrowed until this returns. `nil`: that of
    ///     this process.
    ///   - transport: A socketpair, or the helper's standard input and output, which then belong to the connection.
    ///   - configuration: Bounds, rules and hooks of the connection.
    /// - Returns: When both sides have accepted each other; `child` is the process. It is not ended by `close()`: a helper
    ///   that waits for its connection's `ended` ends then; any other is to be ended through `child`.
    /// - Throws: `ConnectionError.transport` if the program cannot be started, `.closed` if it ends first, `.peerRefused`,
    ///   `.protocolViolation`, `.handshakeTimeout`; by then the process is ended, if need be killed after a second.
    public static func launch(
        _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: String? = nil,
        standardError: CInt? = nil, over transport: ChildProcess.Transport = .socketpair,
        configuration: Configuration = .init()
    ) async throws -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? executable
        _ = try eventLoop(configuration)
        let (child, endpoint) = try transporting(executable) {
            try ChildProcess.launch(
                ChildProcess.located(executable), arguments: arguments,
                environment: environment.isEmpty
                    ? nil : ProcessInfo.processInfo.environment.merging(environment) { _, new in new },
                in: directory, standardError: standardError, over: transport)
        }
        do {
            return try await establish(endpoint, configuration, isInitiator: true, child: child)
        } catch {
            throw await reason(error, child, transport)
        }
    }

    /// Why a helper could not be connected to, once it has ended: one that does not end when told is killed a second later.
    private static func reason(
        _ error: any Error, _ child: ChildProcess, _ transport: ChildProcess.Transport
    ) async -> any Error {
        child.terminate()
        let killing = Task {
            try await Task.sleep(for: .seconds(1))
            child.kill()
        }
        let status = await child.waitForExit()
        killing.cancel()
        guard let error = error as? ConnectionError else { return error }
        switch (error.code, status) {
        case (.closed, .exited(let status)):
            return ConnectionError(
                .closed, "the program ended with status \(status) before it was connected with Connection.parent()",
                context: error.context, underlying: error)
        case (.closed, .signalled(let signal)) where signal != SIGTERM:
            return ConnectionError(
                .closed, "the program was ended by signal \(signal) before it was connected with Connection.parent()",
                context: error.context, underlying: error)
        case (.protocolViolation, _) where transport == .pipes:
            return ConnectionError(
                .protocolViolation,
                "\(error.message); a program launched over pipes must call Connection.parent() before it prints",
                context: error.context, underlying: error)
        default:
            return error
        }
    }

    /// In a helper: the connection to the process that launched it.
    ///
    /// - Parameter configuration: Bounds, rules and hooks of the connection.
    /// - Throws: `ConnectionError.transport` if this process was not started by `launch`.
    public static func parent(configuration: Configuration = .init()) async throws -> Connection {
        var configuration = configuration
        configuration.name = configuration.name ?? "parent"
        let endpoint = try transporting("parent") { try ChannelEndpoint.parent() }
        return try await establish(endpoint, configuration, isInitiator: false)
    }

    /// Makes a connection of a connected socket that this process was given.
    ///
    /// - Parameters:
    ///   - descriptor: The socket, which is closed with the connection.
    ///   - isInitiator: Whether this side greets first; exactly one side must.
    ///   - configuration: Bounds, rules and hooks of the connection.
    public static func adopt(
        socket descriptor: CInt, isInitiator: Bool, configuration: Configuration = .init()
    ) async throws -> Connection {
        let endpoint = try transporting("descriptor \(descriptor)") {
            try ChannelEndpoint.socket(descriptor)
        }
        return try await establish(endpoint, configuration, isInitiator: isInitiator)
    }

    /// Makes a connection of two pipe ends that this process was given.
    ///
    /// - Parameters:
    ///   - reading: The end to read from, which is closed with the connection.
    ///   - writing: The end to write to, which is closed with the connection.
    ///   - isInitiator: Whether this side greets first; exactly one side must.
    ///   - configuration: Bounds, rules and hooks of the connection.
    public static func adopt(
        reading: CInt, writing: CInt, isInitiator: Bool, configuration: Configuration = .init()
    ) async throws -> Connection {
        let endpoint = try transporting("descriptors \(reading) and \(writing)") {
            try ChannelEndpoint.inherited(reading: reading, writing: writing)
        }
        return try await establish(endpoint, configuration, isInitiator: isInitiator)
    }

    /// Two connected ends in this process, for tests and for parts that may become processes later.
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
        // Descriptors have no typed value yet.
        var bounds = ChannelConfiguration(
            maximumBulk: UInt64(configuration.limits.message), acceptsDescriptors: false,
            answerKind: FrameKind.return.rawValue, countedKinds: 1 << UInt32(FrameKind.failed.rawValue))
        bounds.asksKernel = configuration.asksKernel
        let channel = Channel(endpoint: endpoint, loop: loop, configuration: bounds)
        return Connection(
            channel: channel, loop: loop, configuration: shared, isInitiator: isInitiator, child: child)
    }

    /// Tells who has connected why it is not taken, and closes.
    static func refuse(_ endpoint: ChannelEndpoint, _ reason: String, loop: any PortLoop) {
        let channel = Channel(
            endpoint: endpoint, loop: loop, configuration: ChannelConfiguration(acceptsDescriptors: false))
        var prefix = PrefixBuffer()
        prefix.appendGoodbye(entered: 0, .refused, reason)
        _ = channel.enqueue(kind: FrameKind.goodbye.rawValue, flags: 0, prefix: prefix.bytes)
        channel.flushAndCancel(.byThisSide)
    }

    private static func connect(
        to address: Address, waitingUpTo limit: Duration?, orForRoom limitForRoom: Duration
    ) async throws -> ChannelEndpoint {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        while true {
            do {
                return try ChannelEndpoint.connect(path: address.path)
            } catch {
                let bound: Duration? =
                    switch error.code {
                    case .notFound, .nobodyListens: limit
                    // The kernel tells nobody when there is room.
                    case .listenerBusy: limitForRoom
                    default: nil
                    }
                let rest = (bound ?? .zero) - start.duration(to: .now)
                guard rest > .zero else {
                    throw ConnectionError(.transport, error.message, context: address.path, underlying: error)
                }
                try await Task.sleep(for: min(pause, rest))
                pause = min(pause * 2, .milliseconds(50))
            }
        }
    }

    private static func establish(
        _ endpoint: ChannelEndpoint, _ configuration: Configuration, isInitiator: Bool,
        child: ChildProcess? = nil
    ) async throws -> Connection {
        let connection = try make(endpoint, configuration, isInitiator: isInitiator, child: child)
        connection.begin()
        try await connection.handshake()
        return connection
    }

    /// The loops that poll before they sleep, one for each duration.
    private static let spinning = Mutex<[Duration: EventLoop]>([:])

    static func eventLoop(_ configuration: Configuration) throws -> EventLoop {
        let loop = try loop(spinning: configuration.spin)
        LoopWatch.shared.watch(loop)
        return loop
    }

    private static func loop(spinning spin: Duration?) throws -> EventLoop {
        guard let spin else {
            return try transporting("event loop") { try EventLoop.started() }
        }
        return try spinning.withLock { loops in
            if let known = loops[spin], known.isAlive { return known }
            let made = try transporting("event loop") { try EventLoop(configuration: .init(spin: spin)) }
            loops[spin] = made
            return made
        }
    }

    /// Turns a transport's error into one of this module, with the place it concerns.
    static func transporting<Result>(_ context: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as TransportError {
            throw ConnectionError(.transport, error.message, context: context, underlying: error)
        }
    }
}
