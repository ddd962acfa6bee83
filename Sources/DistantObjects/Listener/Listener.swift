import PortTransport
import Synchronization

/// Waits at a socket for other processes; each that is accepted is a `Connection`.
///
/// ```swift
/// let listener = try Listener(at: .path("/run/directory.sock"))
/// for try await connection in listener { connection.vend(directory) }
/// ```
///
/// The handshake is done, and the accept rule was asked, before a connection is given out; one that ends before it was
/// given out is not. At most `Connection.Limits.connections` are open at a time, and others wait until one has ended. At most
/// `Connection.Limits.connectionsOfPeer` of them belong to one peer, which is refused further ones, so that it cannot keep
/// the others out.
///
/// The socket's file is readable and writable by its owner only; a file that a dead process left is replaced, one in use is
/// not. The file is removed when the listener is closed, or let go by its owner and those who iterate; beside it stays a file
/// `PATH.lock`, which must not be removed while a process may be listening.
public final class Listener: AsyncSequence, Sendable {
    /// What iteration gives.
    public typealias Element = Connection

    /// Where it listens.
    public let address: Connection.Address
    fileprivate let queue: AcceptQueue
    private let socket: SocketListener

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: The path; its directory must exist.
    ///   - configuration: For every connection that is accepted.
    /// - Throws: `ConnectionError.transport` if the path is in use, too long, or cannot be made.
    public convenience init(at address: Connection.Address, configuration: Connection.Configuration = .init()) throws {
        try self.init(address.path, configuration) { loop, maximum in
            try SocketListener(path: address.path, loop: loop, maximum: maximum)
        }
    }

    /// Listens at a socket that a service manager such as systemd opened and passed to this process.
    ///
    /// The environment's `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` tell of such sockets; they are read once and unset, so
    /// that programs started from here do not take them for theirs. The socket's file is the service manager's and stays.
    /// - Parameters:
    ///   - name: What the service manager calls the socket (`FileDescriptorName=`); `nil`: the first that is not taken.
    ///   - configuration: For every connection that is accepted.
    /// - Throws: `ConnectionError.transport` if no such socket was passed, or it is no listening Unix domain stream socket.
    public convenience init(activatedAs name: String?, configuration: Connection.Configuration = .init()) throws {
        try self.init(name ?? "activation", configuration) { loop, maximum in
            try SocketListener(activatedAs: name, loop: loop, maximum: maximum)
        }
    }

    private init(
        _ place: String, _ configuration: Connection.Configuration, _ listen: (EventLoop, Int) throws -> SocketListener
    ) throws {
        // Each connection of the listener uses the one loop made here.
        let loop = try Connection.eventLoop(configuration)
        var configuration = configuration
        configuration.loop = loop
        let shared = Connection.SharedConfiguration(configuration)
        let queue = AcceptQueue(configuration: shared, loop: loop, place: place)
        self.queue = queue
        let onEvent = configuration.onEvent
        let socket = try Connection.transporting(place) {
            let socket = try listen(loop, shared.value.limits.connections)
            try socket.start { error in
                onEvent?(
                    .acceptPaused(
                        ConnectionError(.transport, error.message, context: place, underlying: error)))
            } _: { [weak socket] endpoint, peer in
                queue.accept(endpoint, of: peer) { [weak socket] in socket?.connectionEnded() }
            }
            return socket
        }
        self.socket = socket
        address = .path(socket.path)
    }

    deinit {
        close()
    }

    /// Stops listening; connections already accepted stay.
    ///
    /// The iteration ends.
    public func close() {
        socket.close()
        queue.end()
    }

    /// Iterates over the connections; several iterators share them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(listener: self)
    }

    /// Gives the next connection.
    public struct Iterator: AsyncIteratorProtocol {
        /// Held, so that one whose connections are waited for goes on listening.
        fileprivate let listener: Listener

        /// The next process that connected; `nil` once the listener is closed or the task is cancelled.
        public mutating func next() async throws -> Connection? {
            await listener.queue.next()
        }
    }
}

/// Connections whose handshake is done and that nobody has taken.
private final class AcceptQueue: Sendable {
    private struct State {
        var ready = Fifo<Connection>()
        var waiting = Fifo<(UInt64, CheckedContinuation<Connection?, Never>)>()
        var nextWaiter: UInt64 = 0
        var isEnded = false
        var counts: PeerCounts
    }

    private let state: Mutex<State>
    private let configuration: Connection.SharedConfiguration
    private let loop: EventLoop
    /// Where the listener is, for messages.
    private let place: String

    init(configuration: Connection.SharedConfiguration, loop: EventLoop, place: String) {
        self.configuration = configuration
        self.loop = loop
        self.place = place
        state = Mutex(State(counts: PeerCounts(maximum: configuration.value.limits.connectionsOfPeer)))
    }

    /// Makes a connection of it, unless the peer has too many; on the loop.
    ///
    /// - Parameter onEnd: Called once, when nothing of the connection is left.
    func accept(
        _ endpoint: ChannelEndpoint, of credentials: PeerCredentials?, onEnd: @escaping @Sendable () -> Void
    ) {
        let peer = PeerCounts.Peer(credentials)
        if case .refused(let isFirst) = state.withLock({ $0.counts.enter(peer) }) {
            refuse(endpoint, peer, credentials, isFirst: isFirst)
            return onEnd()
        }
        let onEnd: @Sendable () -> Void = { [weak self] in
            self?.state.withLock { $0.counts.leave(peer) }
            onEnd()
        }
        // The loop is there, so nothing can fail; an endpoint nobody takes is closed.
        guard let connection = try? Connection.make(endpoint, configuration, isInitiator: false) else { return onEnd() }
        connection.whenEnded { [weak self, unowned connection] in
            self?.forget(connection)
            onEnd()
        }
        connection.begin()
        connection.whenHandshakeEnds { [self] isOpen in
            if isOpen { deliver(connection) }
        }
    }

    /// Without waiting for the peer's Hello, so that one who connects and says nothing takes nothing up.
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
            // One that has ended was forgotten, or will be.
            if !connection.hasEnded { state.ready.append(connection) }
            return (nil, false)
        }
        waiter?.resume(returning: connection)
        if isEnded { connection.invalidate() }
    }

    /// Nobody has to be given a connection that is no more.
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
