import PortTransport
import Synchronization

/// Waits at a socket for other processes; each that is accepted is a `Connection`.
///
/// ```swift
/// let listener = try Listener(at: .path("/run/directory.sock"))
/// for try await connection in listener { connection.vend(directory) }
/// ```
///
/// The handshake is done, and the accept rule was asked, before a connection is given out. The socket's file is readable
/// and writable by its owner only; a file that a dead process left is replaced, one in use is not. The file is removed when
/// the listener is closed or let go.
public final class Listener: AsyncSequence, Sendable {
    /// What iteration gives.
    public typealias Element = Connection

    /// Where it listens.
    public let address: Connection.Address
    private let queue: AcceptQueue
    private let socket: SocketListener

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: The path; its directory must exist.
    ///   - configuration: For every connection that is accepted.
    /// - Throws: `ConnectionError.transport` if the path is in use, too long, or cannot be made.
    public init(at address: Connection.Address, configuration: Connection.Configuration = .init()) throws {
        self.address = address
        // Each connection of the listener uses the one loop made here.
        let loop = try Connection.eventLoop(configuration)
        var configuration = configuration
        configuration.loop = loop
        let queue = AcceptQueue(configuration: configuration)
        self.queue = queue
        socket = try Connection.transporting(address.path) {
            let socket = try SocketListener(path: address.path, loop: loop)
            try socket.start { endpoint, _ in queue.accept(endpoint) }
            return socket
        }
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
        Iterator(queue: queue)
    }

    /// Gives the next connection.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let queue: AcceptQueue

        /// The next process that connected; `nil` once the listener is closed or the task is cancelled.
        public mutating func next() async throws -> Connection? {
            await queue.next()
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
    }

    private let state = Mutex(State())
    private let configuration: Connection.Configuration

    init(configuration: Connection.Configuration) {
        self.configuration = configuration
    }

    func accept(_ endpoint: ChannelEndpoint) {
        // The loop is there, so nothing can fail; an endpoint nobody takes is closed.
        guard let connection = try? Connection.make(endpoint, configuration, isInitiator: false) else { return }
        connection.begin()
        connection.whenHandshakeEnds { [self] isOpen in
            if isOpen { deliver(connection) }
        }
    }

    private func deliver(_ connection: Connection) {
        let (waiter, isEnded) = state.withLock { state -> (CheckedContinuation<Connection?, Never>?, Bool) in
            if state.isEnded { return (nil, true) }
            if let (_, waiter) = state.waiting.popFirst() { return (waiter, false) }
            state.ready.append(connection)
            return (nil, false)
        }
        waiter?.resume(returning: connection)
        if isEnded { connection.invalidate() }
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
