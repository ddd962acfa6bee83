@_exported public import KeyedArchive
@_exported public import PortTransport
import Synchronization

/// A connection to another process.
///
/// Each side can call objects that the other side vends.
///
/// ```swift
/// let connection = try await Connection.open(.path("/run/directory.sock"))
/// let directory = try await connection.root(as: DirectoryInterface.self)
/// let count = try await directory.add(person)
/// await connection.close()
/// ```
///
/// All methods may be called from any thread or task. A connection stays open until one side closes it, even if this process
/// has no more reference to it; the event `dropped` reports that. Every `DistantObject` of a connection holds it.
///
/// All input from the other process is checked before it is used. The other process can refer only to objects it was given,
/// call only listed messages, and create only objects of expected classes.
public final class Connection: Sendable {
    let channel: Channel
    /// Encodes and decodes the messages of this connection.
    let coder: PortCoder
    let settings: OpenSettings
    /// A name for log lines: the configured name, the peer's address, or “connection”.
    public let name: String
    private let madeRoots = AtomicLazyReference<RootDirectory>()
    let isInitiator: Bool
    let state: LockedState
    let life: Mutex<Life>
    let userWork = Mutex(UserWork<Connection>())
    /// Ids of proxies that were freed.
    ///
    /// They have a separate lock, because a proxy may be freed anywhere, even under the connection's lock.
    private let dying = Mutex(DyingReferences())
    /// The number of ids in `dying`.
    ///
    /// Checked in each loop iteration, and after each read.
    private let dyingCount = Atomic<Int>(0)
    /// A thread that reads writes the releases itself from so many on, because the loop's may wait for a processor.
    private static let manyReleases = 64
    /// The helper process that `launch` started.
    public let child: ChildProcess?

    init(
        channel: Channel, configuration shared: SharedConfiguration, isInitiator: Bool,
        child: ChildProcess? = nil
    ) {
        self.channel = channel
        settings = shared.settings
        self.isInitiator = isInitiator
        self.child = child
        let configuration = shared.value
        name = configuration.name ?? "connection"
        life = Mutex(Life(opening: shared))
        coder = PortCoder(shared.coder)
        state = LockedState(settings.conversation, channel)
        if !configuration.roots.isEmpty { roots.set(Array(configuration.roots)) }
        coder.attach(self)
    }

    var loop: any PortLoop { channel.loop }

    deinit { coder.detach() }

    /// The peer's credentials, as the kernel reports them; `nil` over pipes.
    public var peer: PeerCredentials? { channel.peer }

    // MARK: Roots

    /// The object that returns the roots to the peer, made when it is first needed.
    var roots: RootDirectory {
        madeRoots.load() ?? madeRoots.storeIfNil(RootDirectory(holdsLookups: !isInitiator))
    }

    /// Whether the peer can look up a root.
    var vendsRoots: Bool { !(madeRoots.load()?.isEmpty ?? true) }

    /// Vends an object as the connection's root, or as one of several roots with names.
    ///
    /// Look-ups by a peer that opened the connection wait until this side has vended something for the first time.
    ///
    /// - Parameters:
    ///   - object: The object. It is kept alive until the connection ends or another object gets its name.
    ///   - name: The name of the root; empty for the one that `root` returns.
    @_disfavoredOverload  // Not generic, it would be preferred for classes that implement an interface, too.
    public func vend(_ object: any Vendable, as name: String = "") {
        roots.set([(key: name, value: object)])
    }

    /// Vends several objects in one step, so that a look-up sees all of them or none.
    public func vend(_ objects: [String: any Vendable]) {
        roots.set(Array(objects))
    }

    /// The peer's root object.
    ///
    /// - Throws: `ConnectionError.noSuchRoot` if it vends none, `.deadlineExceeded` if it has vended nothing within
    ///   `Configuration.lookupDeadline`.
    public var root: DistantObject {
        get async throws { try await root(named: "") }
    }

    /// The peer's root object of that name.
    ///
    /// - Parameters:
    ///   - name: The name it was vended under; empty for the one that `root` returns.
    ///   - deadline: How long to wait, as the peer may not have vended anything yet; `nil` for
    ///     `Configuration.lookupDeadline`.
    /// - Throws: `ConnectionError.noSuchRoot` if it vends none, `.deadlineExceeded`.
    public func root(named name: String, deadline: Duration? = nil) async throws -> DistantObject {
        try await peerRoots.message("root").call(name, deadline: deadline ?? settings.lookupDeadline)
    }

    /// The peer's root object of that name.
    ///
    /// Blocks the calling thread until it arrives.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:deadline:)`.
    ///   - deadline: As for `root(named:deadline:)`.
    /// - Throws: As `root(named:deadline:)`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public func blockingRoot(named name: String = "", deadline: Duration? = nil) throws -> DistantObject {
        try peerRoots.message("root").blocking(name, deadline: deadline ?? settings.lookupDeadline)
    }

    var peerRoots: DistantObject {
        DistantObject(.rootDirectory, on: self)
    }

    // MARK: Running on the loop

    /// Runs the body with the connection's event loop as its executor, so that its calls switch no threads.
    ///
    /// Use it for many calls in a row. While the body computes, other work of the connection waits. After about a millisecond
    /// another thread takes over that work.
    ///
    /// - Throws: What the body throws.
    public func run<Result: Sendable>(
        _ body: @concurrent @Sendable () async throws -> Result
    ) async throws -> Result {
        let scope = CallScope(self)
        return try await withTaskExecutorPreference(scope) {
            scope.enter()
            return try await withTaskCancellationHandler {
                try await body()
            } onCancel: {
                cancelCalls(in: scope)
            }
        }
    }

    // MARK: References

    /// Notes that a proxy was freed, from any thread.
    func died(_ target: ProxyTarget) {
        if case .object(.rootDirectory) = target { return }
        let isFirst = dying.withLock { dying in
            defer { dyingCount.store(dying.count, ordering: .relaxed) }
            return dying.append(target)
        }
        // Uses the end of a loop iteration, because a job would need a closure.
        if isFirst { loop.schedule(.notify, on: channel) }
    }

    /// Has the loop end a stream of the peer whose reader was freed.
    func streamReaderDied(_ inbox: StreamInbox) {
        dying.withLock { dying in
            dying.append(inbox)
            dyingCount.store(dying.count, ordering: .relaxed)
        }
        // A job, because the channel notifies nobody once the connection has ended. What waits for the final value must learn
        // then, too, that nobody reads the stream.
        loop.perform {
            self.flushReleases()
            self.channel.setNeedsFlush()
        }
    }

    /// Writes Release and Drop frames for the proxies that were freed, and ends the streams that nobody reads any more.
    ///
    /// Off the loop it writes only if there are many, and leaves the streams alone, which may run user code.
    func flushReleases(onLoop: Bool = true) {
        guard dyingCount.load(ordering: .relaxed) >= (onLoop ? 1 : Self.manyReleases) else { return }
        let dead = dying.withLock { dying in
            let dead = onLoop ? dying.takeAll() : dying.takeReferences()
            dyingCount.store(dying.count, ordering: .relaxed)
            return dead
        }
        state.withLock { state in
            state.writeReleases(dead)
            if !dead.promises.isEmpty { state.dropPromises(dead.promises) }
        }
        if !dead.streams.isEmpty { stopReading(dead.streams) }
    }

    /// Returns the credit of a large message that was decoded.
    func consumed(largeBytes bytes: Int) {
        channel.consumedMessageBytes(UInt64(bytes))
        state.withLock { $0.writeLargeMessageCredit(bytes) }
        channel.setNeedsFlush()
    }

    /// Returns the credit of a body that was decoded, if it came in fragments.
    func consumed(_ body: InboundBody) {
        let largeBytes = body.takeLargeBytes()
        if largeBytes > 0 { consumed(largeBytes: largeBytes) }
    }

    func report(_ event: ConnectionEvent) {
        guard let onEvent = settings.onEvent else { return }
        asCurrent { onEvent(event) }
    }
}

extension Connection: CustomStringConvertible {
    /// The connection's name and peer.
    public var description: String {
        guard let peer else { return "Connection(\(name))" }
        return "Connection(\(name), peer pid \(peer.pid), uid \(peer.uid))"
    }
}
