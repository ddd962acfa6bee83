@_exported public import KeyedArchive
@_exported public import PortTransport
import Synchronization

/// A connection to another process: objects vended here can be called from there, and the other way round.
///
/// ```swift
/// let connection = try await Connection.open(.path("/run/directory.sock"))
/// let directory = try await connection.root
/// let count: Int = try await directory.add(foo)
/// await connection.close()
/// ```
///
/// All methods may be called from any thread or task. A connection stays open until one side closes it, even when nobody
/// holds it any more; every `DistantObject` of it holds it. The event `dropped` tells of one that nobody can close any more.
/// What the other process sends is checked before it is used: it can name only objects it was given, call only messages
/// that are listed, and make only classes that are expected.
public final class Connection: Sendable {
    let channel: Channel
    let loop: any PortLoop
    /// Encodes and decodes the messages of this connection.
    public let coder: PortCoder
    private let shared: SharedConfiguration
    let roots: RootDirectory
    let isInitiator: Bool
    let state: LockedState
    let life = Mutex(ConnectionLife())
    let userWork = Mutex(UserWork<Connection>())
    /// Ids of references that are gone.
    ///
    /// A lock of its own: a reference may die anywhere, also under the connection's lock.
    private let dying = Mutex(DyingReferences())
    /// Whether there are any, to be asked at the end of each turn.
    private let hasDying = Atomic<Bool>(false)
    /// The helper process that `launch` started.
    public let child: ChildProcess?

    init(
        channel: Channel, loop: any PortLoop, configuration shared: SharedConfiguration, isInitiator: Bool,
        child: ChildProcess? = nil
    ) {
        self.channel = channel
        self.loop = loop
        self.shared = shared
        self.isInitiator = isInitiator
        self.child = child
        let configuration = shared.value
        coder = PortCoder(
            .of(configuration.limits.archive, configuration.classes), errorTypes: configuration.errorTypes,
            exposesErrorText: configuration.exposesErrorText)
        roots = RootDirectory(holdsLookups: !isInitiator)
        state = LockedState(shared.settings, channel)
        coder.attach(self)
        state.withLock { state in
            _ = state.exports.mention(roots, messages: ClassMessages.of(roots), number: 0)
        }
    }

    /// In place: a copy would count every closure in it.
    var configuration: Configuration {
        @inline(__always) _read { yield shared.value }
    }

    var settings: PortSettings { shared.settings }

    /// A name for log lines: the configured one, or where the peer was reached; “connection” if that has no name.
    public var name: String { configuration.name ?? "connection" }

    deinit { coder.detach() }

    /// Who is at the other end, as the kernel says; `nil` over pipes, which cannot tell.
    public var peer: PeerCredentials? { channel.peer }

    // MARK: Roots

    /// Makes an object the connection's root, or one of several under a name.
    ///
    /// The peer's look-ups wait until the side that accepted the connection has vended something for the first time.
    /// - Parameters:
    ///   - object: Kept alive until the connection ends or another object gets the name.
    ///   - name: Empty for the root that `root` gives.
    // Else the compiler would take it for classes that implement an interface, too, since it is not generic.
    @_disfavoredOverload
    public func vend(_ object: any Vendable, as name: String = "") {
        roots.set([name: object])
    }

    /// Makes several objects roots in one step, so that no look-up sees some of them only.
    public func vend(_ objects: [String: any Vendable]) {
        roots.set(objects)
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
    ///   - name: The name it was vended under; empty for the root that `root` gives.
    ///   - deadline: How long to wait; a listener that has accepted the connection may not have vended anything yet.
    ///     `nil`: as `Configuration.lookupDeadline` says.
    /// - Throws: `ConnectionError.noSuchRoot` if it vends none, `.deadlineExceeded`.
    public func root(named name: String, deadline: Duration? = nil) async throws -> DistantObject {
        try await peerRoots.message("root").call(name, deadline: deadline ?? configuration.lookupDeadline)
    }

    /// The peer's root object of that name, for plain threads: blocks until it is there.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:deadline:)`.
    ///   - deadline: As for `root(named:deadline:)`.
    /// - Throws: As `root(named:deadline:)`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public func blockingRoot(named name: String = "", deadline: Duration? = nil) throws -> DistantObject {
        try peerRoots.message("root").blocking(name, deadline: deadline ?? configuration.lookupDeadline)
    }

    var peerRoots: DistantObject {
        DistantObject(.rootDirectory, on: self)
    }

    // MARK: Running on the loop

    /// Runs the body with the connection's loop as its executor: calls made inside cost no switch of threads.
    ///
    /// Meant for many calls in a row. Other work of the connection waits while the body computes; after about a
    /// millisecond another thread takes over.
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

    func referenceDied(_ id: ObjectID) {
        guard id != .rootDirectory else { return }
        let isFirst = dying.withLock { dying in
            hasDying.store(true, ordering: .relaxed)
            return dying.append(id)
        }
        // As the end of a turn, which needs no closure of its own.
        if isFirst { loop.schedule(.turn, on: channel) }
    }

    /// Tells the peer which references are gone.
    ///
    /// Runs on the loop.
    func flushReleases() {
        guard hasDying.load(ordering: .relaxed) else { return }
        let dead = dying.withLock { dying in
            defer { dying = DyingReferences() }
            hasDying.store(false, ordering: .relaxed)
            return dying
        }
        state.withLock { $0.writeReleases(dead) }
    }

    /// A message that came in fragments was decoded: its room in the window is free again.
    func consumed(bulk bytes: Int) {
        channel.consumedBulk(UInt64(bytes))
        state.withLock { $0.writeLargeMessageCredit(bytes) }
        channel.setNeedsFlush()
    }

    func report(_ event: ConnectionEvent) {
        guard let onEvent = configuration.onEvent else { return }
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
