import PortTransport

/// Listens on a Unix domain socket, and gives a `Connection` for each process that connects.
///
/// ```swift
/// let listener = try Listener(at: .path("/run/directory.sock"))
/// for await connection in listener { connection.vend(directory) }
/// ```
///
/// Iteration returns a connection after its handshake, so the accept rule has accepted it. A connection that ends before it
/// is taken is dropped. At most `Connection.Limits.connections` are open at a time; further processes wait until one has
/// ended. One peer may have at most `Connection.Limits.connectionsOfPeer` of them, and half of the descriptors that this
/// process may have, so that it cannot keep the others out; further ones are refused. If the descriptors are used up all the
/// same, a process with fewer connections takes the place of the newest connection of the peer that has most.
///
/// How many descriptors there are (`ulimit -n`) is asked for when the listener is made.
///
/// Only the owner can read and write the socket's file. A file that a dead process left is replaced; one in use is not: the
/// error names the process that has it. Next to the socket `NAME` is its lock, the file `.NAME.distant-lock`. Do not remove
/// that one yourself while a process may be listening. When the listener is closed or freed, both files are removed. No other
/// file is removed or changed, and no other file in their place.
public final class Listener: AsyncSequence, Sendable {
    /// The element of the sequence.
    public typealias Element = Connection

    /// The address that it listens on: a name as it was given, or an absolute path.
    public let address: Connection.Address
    fileprivate let queue: AcceptQueue
    private let socket: SocketListener

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: A path or a service. The directory of a path must exist; a relative path counts from the current directory at
    ///     the time of this call; the program may change it later.
    ///   - configuration: The configuration of every accepted connection.
    /// - Throws: `ConnectionError.transport` if the path or name is in use, too long, or cannot be created, if another file is in
    ///   the place of the socket or its lock, or if the user has no folder for services.
    public convenience init(at address: Connection.Address, configuration: Connection.Configuration = .init()) throws {
        try self.init(address.description, configuration) { loop, maximum in
            let socket = try SocketListener(
                path: address.socketPath(makingFolder: true), loop: loop, maximum: maximum,
                version: ProtocolLimits.version)
            return (socket, address.listening(at: socket.path))
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
            let socket = try SocketListener(activatedAs: name, loop: loop, maximum: maximum)
            return (socket, .path(socket.path))
        }
    }

    private init(
        _ place: String, _ configuration: Connection.Configuration,
        _ listen: (EventLoop, Int) throws -> (SocketListener, Connection.Address)
    ) throws {
        // All connections of the listener use this loop.
        let loop = try Connection.eventLoop(configuration)
        var configuration = configuration
        configuration.loop = loop
        configuration.limits.fit(descriptors: PeerDescriptors.most)
        let shared = Connection.SharedConfiguration(configuration)
        let queue = AcceptQueue(configuration: shared, loop: loop, place: place)
        self.queue = queue
        let onEvent = configuration.onEvent
        (socket, address) = try Connection.transporting(place) {
            let (socket, address) = try listen(loop, shared.value.limits.connections)
            queue.begin(with: socket)
            socket.whenLastDescriptorsAreLeft(mayAccept: { queue.mayMakeRoom }, makeRoom: { queue.makeRoom() }) {
                endpoint, peer in
                queue.accept(endpoint, of: peer, makingRoom: true)
            }
            try socket.start { error in
                onEvent?(
                    .acceptPaused(
                        ConnectionError(.transport, error.message, context: place, underlying: error)))
            } _: { endpoint, peer in
                queue.accept(endpoint, of: peer)
            }
            return (socket, address)
        }
    }

    deinit {
        stopListening()
    }

    /// Stops listening, ends the iteration, and closes the listener's connections in order, as `Connection.close(timeout:)`
    /// does.
    ///
    /// Returns at once; `ended` waits. Does nothing the second time.
    ///
    /// - Parameter timeout: How long the connections may take to close. After that they are cut.
    public func close(timeout: Duration = .seconds(5)) {
        socket.close()
        queue.end(closing: timeout)
    }

    /// Stops listening and ends the iteration; connections that were taken stay open.
    ///
    /// Those that were not taken are closed in order: their peers get a goodbye. They may take five seconds for it, whatever is called
    /// later.
    ///
    /// A listener that is freed does the same. `close(timeout:)` may follow, and closes the connections.
    public func stopListening() {
        socket.close()
        queue.end(closing: nil)
    }

    /// Closes the listener and its connections in order once all connections have been idle for a time, so that the program can exit
    /// until it is needed again.
    ///
    /// What idle means, says `Connection.closeWhenIdle(for:)`; a listener without connections is idle. Within ten seconds of this call it
    /// waits for the first connection, because the process for which the program was started may be slow. No process is lost that connects at
    /// that moment: the listener first gives up its name, then accepts the connections that wait, and serves them until they are idle, too.
    /// A process that comes later finds nobody listening, and starts the program again if its address says how. A socket of a service
    /// manager is left to it.
    ///
    /// Returns at once; the iteration ends and `ended` returns when it is done.
    ///
    /// - Parameter time: How long they have to be idle, up to a quarter longer.
    public func closeWhenIdle(for time: Duration) {
        queue.expectConnection(within: .seconds(10))
        watch(IdleWatch(limit: time), isListening: true)
    }

    private func watch(_ idleness: IdleWatch, isListening: Bool) {
        // The timer must not hold the listener, which stops when it is freed.
        _ = queue.loop.addTimer(after: idleness.pause) { [weak self] in
            guard let self, !self.queue.isClosed else { return }
            var idleness = idleness
            switch (idleness.isOver(self.queue.use, at: self.queue.loop.now), isListening) {
            case (false, _): self.watch(idleness, isListening: isListening)
            case (true, true):
                // What it accepts by this is seen at the next look.
                self.socket.stopAfterLast()
                self.watch(idleness, isListening: false)
            case (true, false): self.close()
            }
        }
    }

    /// Waits until the listener is closed and all of its connections have ended.
    ///
    /// A server should await this before it exits, so that the other side of each connection gets a goodbye. The wait goes on if
    /// the task is cancelled: `close(timeout:)` bounds it.
    public var ended: Void {
        get async { await queue.ended() }
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
