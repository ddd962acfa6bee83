import KeyedArchive
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
        madeRoots.load()
            ?? madeRoots.storeIfNil(
                RootDirectory(holdsLookups: !isInitiator) { Connection.current?.report(.lookupWaits(nil)) })
    }

    /// Whether the peer can look up a root.
    var vendsRoots: Bool { !(madeRoots.load()?.isEmpty ?? true) }

    /// The objects that the peer can look up.
    var vended: Set<ObjectIdentifier> { madeRoots.load()?.identities ?? [] }

    /// Vends an object as the connection's root, or as one of several roots with names.
    ///
    /// Look-ups by a peer that opened the connection wait until this side has vended something for the first time. After a
    /// second of that, both sides get the event `lookupWaits`.
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
    ///   `Configuration.lookupTimeout`.
    public var root: DistantObject {
        get async throws { try await root(named: "") }
    }

    /// The peer's root object of that name.
    ///
    /// - Parameters:
    ///   - name: The name it was vended under; empty for the one that `root` returns.
    ///   - timeout: How long to wait, as the peer may not have vended anything yet; `nil` for
    ///     `Configuration.lookupTimeout`.
    /// - Throws: `ConnectionError.noSuchRoot` if it vends none, or could not vend it; `.deadlineExceeded`, with the reason if it has
    ///   vended nothing.
    public func root(named name: String, timeout: Duration? = nil) async throws -> DistantObject {
        try await lookUp(name) {
            try await peerRoots.message("root")(name, timeout: timeout ?? settings.lookupTimeout)
        }
    }

    /// The peer's root object of that name.
    ///
    /// Blocks the calling thread until it arrives.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:timeout:)`.
    ///   - timeout: As for `root(named:timeout:)`.
    /// - Throws: As `root(named:timeout:)`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public func blockingRoot(named name: String = "", timeout: Duration? = nil) throws -> DistantObject {
        try blockingLookUp(name) {
            try peerRoots.message("root").blocking(name, timeout: timeout ?? settings.lookupTimeout)
        }
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
            self.closeIfUnused()
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
        state.withLock { $0.release(dead) }
        if !dead.streams.isEmpty { stopReading(dead.streams) }
    }

    /// Ends streams of the peer whose readers were freed.
    func stopReading(_ inboxes: [StreamInbox]) {
        transition { state, actions in
            let error = ConnectionError(.cancelled, "the stream was not read to its end")
            for inbox in inboxes { state.session.streams.stopReading(inbox, error, &state.session.outbox, &actions) }
        }
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

// The connection that the running code works for.
extension Connection {
    /// The connection whose call or event handler runs on this thread; `nil` elsewhere.
    ///
    /// A method can ask it for the credentials of its caller. In an `async` method it stays the same after each `await`, in
    /// child tasks, and on actors with the default executor. It is `nil` on the main actor and in a `Task` that the method
    /// makes, which may outlive the call: read it before, and pass on what you need. A method that is called directly within
    /// its own process sees the value of its caller.
    public static var current: Connection? {
        guard let thread = ThreadTasks.current else { return nil }
        if let serving = thread.pointee.serving { return serving.takeUnretainedValue() }
        return thread.pointee.scope?.takeUnretainedValue().serves
    }

    /// Runs synchronous user code with this connection as `current`.
    @inline(__always)
    func asCurrent<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let thread = ThreadTasks.current else { return try body() }
        let outer = thread.pointee.serving
        thread.pointee.serving = Unmanaged.passUnretained(self)
        defer { thread.pointee.serving = outer }
        return try body()
    }
}

extension PortCoder {
    /// The connection of this coder's messages; `nil` once it has ended.
    public var connection: Connection? { owner as? Connection }
}

extension Connection: CoderOwner {}

// The host of `Conversation`: it gives access to the channel, the loop's clock, and proxies.
extension Connection: ConversationHost {
    typealias Waiter = AnswerWaiter
    typealias RoomWaiter = VoidWaiter
    typealias RunningCall = ServedCall
    typealias Proxy = DistantObject

    var now: UInt64 { loop.now }

    var rootDirectory: (object: AnyObject, messages: Unmanaged<ClassMessages>) { (roots, ClassMessages.of(roots)) }

    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> DistantObject {
        DistantObject(id, of: described, on: self)
    }

    static func describe(_ proxy: DistantObject, as described: DescribedClass) { proxy.place.describe(as: described) }

    func entry(of object: AnyObject) -> TableEntry {
        if let proxy = object as? DistantObject {
            guard let connection = proxy.place.connection else { return .foreign }
            guard connection.toOpaque() == Unmanaged.passUnretained(self).toOpaque() else { return .foreign }
            if case .answer(let ticket)? = proxy.place.promise { return .proxy(.answer(ticket)) }
            return .proxy(.object(proxy.place.id))
        }
        return TableEntry(reader: object, on: self) ?? .own
    }

    func makeStreamReader(_ inbox: StreamInbox) -> AnyObject { inbox.makeReader(on: self) }

    var isServing: Bool {
        if let thread = ThreadTasks.current, let serving = thread.pointee.serving,
            serving.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        {
            return true
        }
        return Self.served == ObjectIdentifier(self)
    }

    /// The connection whose call the task serves, or the task that has made it.
    ///
    /// Unlike the scope, it is also known on the main actor and in a `Task` that the method makes.
    @TaskLocal static var served: ObjectIdentifier?

    var isQueueFull: Bool { channel.isFrameQueueFull }
    func hasRoom(forLargeMessage byteCount: Int) -> Bool { channel.hasMessageRoom(for: byteCount) }
    var unsentAnswers: Int { channel.unsentAnswers }
    var writtenAnswers: UInt64 { channel.writtenAnswers }
    func isWritten(_ number: UInt64) -> Bool { channel.isWritten(number) }
    func mayBeWritten(_ number: UInt64) -> Bool { channel.mayBeWritten(number) }
    func creditLargeMessages(_ byteCount: UInt64) -> MessageCredit { channel.messageCredit(byteCount) }

    var isPeerTrusted: Bool { channel.peer?.isOfThisUser == true }
    var hasSharedMemory: Bool { channel.hasSharedMemory }
}

extension Connection {
    /// Whether messages in both directions go through shared memory; see `Configuration.sharesMemory`.
    public var isInSharedMemory: Bool { state.withLock { $0.session.memory.isUsed } }
}

// Roots that are used by an interface.
extension Connection {
    /// Makes an object a root that the peer looks up by the interface it implements, or by none.
    ///
    /// - Parameters:
    ///   - object: Kept alive until the connection ends or another object gets the name.
    ///   - name: Empty for the root that `root` gives.
    /// - Throws: `ConnectionError.interfaceMismatch` if the class's table does not list all messages of the interface. Peers that
    ///   wait for the root are refused with that reason.
    public func vend<Object: Vendable & Implements>(_ object: Object, as name: String = "") throws {
        if let mismatch = ClassMessages.of(object)._withUnsafeGuaranteedRef({ $0.mismatch }) {
            roots.refuse(name, because: mismatch)
            throw mismatch
        }
        roots.set([(key: name, value: object)])
    }

    /// The peer's root object of that name, used by an interface.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:timeout:)`.
    ///   - interface: What the object has to answer.
    ///   - timeout: As for `root(named:timeout:)`.
    /// - Throws: As `root(named:timeout:)`; `ConnectionError.interfaceMismatch` if the object does not answer what the
    ///   interface asks, with the whole list.
    public func root<I: Interface>(
        named name: String = "", as interface: I.Type, timeout: Duration? = nil
    ) async throws -> Remote<I> {
        try Remote(await root(named: name, timeout: timeout))
    }

    /// The peer's root object of that name, used by an interface, for plain threads: blocks until it is there.
    ///
    /// - Parameters:
    ///   - name: As for `root(named:timeout:)`.
    ///   - interface: What the object has to answer.
    ///   - timeout: As for `root(named:timeout:)`.
    /// - Throws: As `root(named:as:timeout:)`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public func blockingRoot<I: Interface>(
        named name: String = "", as interface: I.Type, timeout: Duration? = nil
    ) throws -> Remote<I> {
        try Remote(blockingRoot(named: name, timeout: timeout))
    }

    /// The names under which the peer vends its roots, sorted.
    ///
    /// - Parameter timeout: As for `root(named:timeout:)`.
    /// - Throws: `ConnectionError.noSuchMessage` if the peer is of an earlier version, `.deadlineExceeded`.
    public func rootNames(timeout: Duration? = nil) async throws -> [String] {
        try await lookUp { try await peerRoots.message("names")(timeout: timeout ?? settings.lookupTimeout) }
    }

    /// Returns the names under which the peer vends its roots, sorted, to a plain thread: blocks until they are there.
    ///
    /// - Parameter timeout: As for `root(named:timeout:)`.
    /// - Throws: As `rootNames(timeout:)`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    public func blockingRootNames(timeout: Duration? = nil) throws -> [String] {
        try blockingLookUp { try peerRoots.message("names").blocking(timeout: timeout ?? settings.lookupTimeout) }
    }
}
