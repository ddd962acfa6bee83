@_spi(Queues) import PortTransport
import Synchronization

/// Listens on a Unix domain socket, and gives a `Connection` for each process that connects.
///
/// ```swift
/// let listener = try Listener(at: .path("/run/directory.sock"))
/// for await connection in listener { connection.vend(directory) }
/// ```
///
/// Iteration returns a connection after its handshake, so the accept rule has accepted it. A connection that ends before it
/// is taken is dropped. At most `Connection.Limits.connections` are open at a time; further processes wait until one has
/// ended. One peer may have at most `Connection.Limits.connectionsOfPeer` of them, so that it cannot keep the others out;
/// further ones are refused.
///
/// Only the owner can read and write the socket's file. A file that a dead process left is replaced; one in use is not: the
/// error names the process that has it. Next to the socket `NAME` is its lock, the file `.NAME.distant-lock`. Do not remove
/// that one yourself while a process may be listening. When the listener is closed or freed, both files are removed. No other
/// file is removed or changed, and no other file in their place.
public final class Listener: AsyncSequence, Sendable {
    /// The element of the sequence.
    public typealias Element = Connection

    /// The address that it listens on, as an absolute path; as it was given if the absolute path would be too long for a
    /// socket.
    public let address: Connection.Address
    fileprivate let queue: AcceptQueue
    private let socket: SocketListener

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: The path. Its directory must exist. A relative path counts from the current directory at the time of this
    ///     call; the program may change it later.
    ///   - configuration: The configuration of every accepted connection.
    /// - Throws: `ConnectionError.transport` if the path is in use, too long, or cannot be created, or if another file is in
    ///   the place of the socket or its lock.
    public convenience init(at address: Connection.Address, configuration: Connection.Configuration = .init()) throws {
        try self.init(address.path, configuration) { loop, maximum in
            try SocketListener(
                path: address.path, loop: loop, maximum: maximum, version: ProtocolLimits.version)
        }
    }

    /// Listens on a socket that a service manager such as systemd opened and passed to this process.
    ///
    /// The environment variables `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` describe such sockets. They are read once and
    /// unset, so that child processes do not use them. The socket's file belongs to the service manager and stays.
    ///
    /// - Parameters:
    ///   - name: The service manager's name of the socket (`FileDescriptorName=`); `nil` for the first that is not used yet.
    ///   - configuration: The configuration of every accepted connection.
    /// - Throws: `ConnectionError.transport` if no such socket was passed, or it is no listening Unix domain stream socket.
    public convenience init(activatedAs name: String?, configuration: Connection.Configuration = .init()) throws {
        try self.init(name ?? "activation", configuration) { loop, maximum in
            try SocketListener(activatedAs: name, loop: loop, maximum: maximum)
        }
    }

    private init(
        _ place: String, _ configuration: Connection.Configuration, _ listen: (EventLoop, Int) throws -> SocketListener
    ) throws {
        // All connections of the listener use this loop.
        let loop = try Connection.eventLoop(configuration)
        var configuration = configuration
        configuration.loop = loop
        let shared = Connection.SharedConfiguration(configuration)
        let queue = AcceptQueue(configuration: shared, loop: loop, place: place)
        self.queue = queue
        let onEvent = configuration.onEvent
        let socket = try Connection.transporting(place) {
            let socket = try listen(loop, shared.value.limits.connections)
            queue.begin(with: socket)
            try socket.start { error in
                onEvent?(
                    .acceptPaused(
                        ConnectionError(.transport, error.message, context: place, underlying: error)))
            } _: { endpoint, peer in
                queue.accept(endpoint, of: peer)
            }
            return socket
        }
        self.socket = socket
        address = .path(socket.path)
    }

    deinit {
        close()
    }

    /// Stops listening and ends the iteration.
    ///
    /// Connections that were taken stay open.
    public func close() {
        socket.close()
        queue.end()
    }

    /// Makes an iterator over the connections.
    ///
    /// Several iterators share them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(listener: self)
    }

    /// An iterator over a listener's connections.
    public struct Iterator: AsyncIteratorProtocol {
        /// Held, so that the listener stays open while code iterates over it.
        fileprivate let listener: Listener

        /// The next connection; `nil` once the listener is closed or the task is cancelled.
        ///
        /// Never throws.
        public mutating func next() async -> Connection? {
            await listener.queue.next()
        }
    }
}

/// The queue of connections whose handshake is done and that are not taken yet.
private final class AcceptQueue: Sendable {
    private struct State: ~Copyable {
        var ready = Ring<Connection>()
        var waiting = Ring<(UInt64, CheckedContinuation<Connection?, Never>)>()
        var nextWaiter: UInt64 = 0
        var isEnded = false
        var counts: PeerCounts
        /// The socket, which is notified of each connection that ends.
        ///
        /// Weak, because it holds this queue.
        weak var socket: SocketListener?
    }

    private let state: Mutex<State>
    private let configuration: Connection.SharedConfiguration
    private let loop: EventLoop
    /// The listener's path or name, for error messages.
    private let place: String

    init(configuration: Connection.SharedConfiguration, loop: EventLoop, place: String) {
        self.configuration = configuration
        self.loop = loop
        self.place = place
        state = Mutex(State(counts: PeerCounts(maximum: configuration.value.limits.connectionsOfPeer)))
    }

    /// Sets the socket whose connections are accepted, before the first one.
    func begin(with socket: SocketListener) { state.withLock { $0.socket = socket } }

    /// Makes a connection of an accepted socket, unless the peer has too many.
    ///
    /// Runs on the loop.
    func accept(_ endpoint: ChannelEndpoint, of credentials: PeerCredentials?) {
        let peer = PeerCounts.Peer(credentials)
        if case .refused(let isFirst) = state.withLock({ $0.counts.enter(peer) }) {
            refuse(endpoint, peer, credentials, isFirst: isFirst)
            state.withLock { $0.socket }?.connectionEnded()
            return
        }
        // This cannot fail, because the loop exists. If it did, the endpoint would be closed.
        guard let connection = try? Connection.make(endpoint, configuration, isInitiator: false) else {
            return ended(peer)
        }
        connection.whenEnded { [self, unowned connection] in
            forget(connection)
            ended(peer)
        }
        connection.begin()
        connection.whenHandshakeEnds { [self] isOpen in
            if isOpen { deliver(connection) }
        }
    }

    /// Counts the end of a connection that was admitted.
    private func ended(_ peer: PeerCounts.Peer) {
        let socket = state.withLock { state in
            state.counts.leave(peer)
            return state.socket
        }
        socket?.connectionEnded()
    }

    /// Refuses a peer without waiting for its Hello, so that a silent peer uses no resources.
    private func refuse(
        _ endpoint: ChannelEndpoint, _ peer: PeerCounts.Peer, _ credentials: PeerCredentials?, isFirst: Bool
    ) {
        let reason =
            "\(configuration.value.limits.connectionsOfPeer) connections of \(peer) are open, as many as a peer may have"
        if isFirst {
            let error = ConnectionError(.peerRefused, reason, context: place)
            configuration.value.onEvent?(.tooManyConnections(credentials, error))
        }
        Connection.refuse(endpoint, reason, loop: loop)
    }

    private func deliver(_ connection: Connection) {
        let (waiter, isEnded) = state.withLock { state -> (CheckedContinuation<Connection?, Never>?, Bool) in
            if state.isEnded { return (nil, true) }
            if let (_, waiter) = state.waiting.popFirst() { return (waiter, false) }
            // `forget` removes one that ends after this check.
            if !connection.hasEnded { state.ready.append(connection) }
            return (nil, false)
        }
        waiter?.resume(returning: connection)
        if isEnded { connection.invalidate() }
    }

    /// Removes a connection that ended before it was taken.
    private func forget(_ connection: Connection) {
        _ = state.withLock { $0.ready.removeFirst { $0 === connection } }
    }

    func next() async -> Connection? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (connection, isDone) = state.withLock { state -> (Connection?, Bool) in
                    if let connection = state.ready.popFirst() { return (connection, true) }
                    if state.isEnded || Task.isCancelled { return (nil, true) }
                    state.waiting.append((number, continuation))
                    return (nil, false)
                }
                if isDone { continuation.resume(returning: connection) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiting.removeFirst { $0.0 == number } }
            waiter?.1.resume(returning: nil)
        }
    }

    func end() {
        let (waiting, untaken) = state.withLock { state in
            state.isEnded = true
            return (state.waiting.removeAll(), state.ready.removeAll())
        }
        for (_, continuation) in waiting { continuation.resume(returning: nil) }
        for connection in untaken { connection.invalidate() }
    }
}
