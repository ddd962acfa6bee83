internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Listens at a path of the file system and passes its connections on.
///
/// The path belongs to the process that holds the lock of the file `path.lock` beside it. The kernel releases the lock
/// when this process ends, in whatever way. So a socket whose lock is free is stale and is replaced, and process
/// numbers are not needed. Both files have mode 0600.
package final class SocketListener: PollHandler, @unchecked Sendable {  // `lock` protects `state`.
    /// Called on the loop for each connection; it may run user code.
    package typealias Acceptor = @Sendable (ChannelEndpoint, PeerCredentials?) -> Void

    private struct State {
        var source: UInt64 = 0
        var interest: UInt32 = 0
        var isClosed = false
        var timer: TimerToken?
        var acceptor: Acceptor?
        var onPause: (@Sendable (TransportError) -> Void)?
        /// Nothing was accepted since the last pause, which was reported.
        var pausesAgain = false
        /// Accepted connections whose end was not reported yet.
        var open = 0
        /// As many connections are open as may be.
        var isFull = false
    }

    package let path: String
    private let loop: EventLoop
    /// The most connections that may be open at a time.
    private let maximum: Int
    private let descriptor: CInt
    /// The lock file; -1 if the socket and its file belong to another process, which may give them to another one
    /// afterwards.
    private let lockFile: CInt
    private let identity: (UInt64, UInt64)
    private let lock = StateLock<State>()
    private var state = State()

    /// Connections accepted before the loop serves other sources.
    private static let readBudget = 16
    /// How long to leave connections in the kernel's queue when no descriptor is left for them.
    private static let pause = Duration.milliseconds(20)

    /// Takes the path and listens; connections wait in the kernel until `start`.
    ///
    /// - Parameter maximum: How many connections may be open at a time; further ones wait in the kernel.
    /// - Throws: `pathTooLong`; `nameTaken` if somebody listens there; `wrongDescriptor` if a file that is no socket is
    ///   in the way; `notFound` if the folder does not exist; `system`.
    package init(
        path: String, loop: EventLoop = .shared, backlog: Int = 512, maximum: Int = .max
    ) throws(TransportError) {
        try ChannelEndpoint.checkPath(path)
        self.path = path
        self.loop = loop
        self.maximum = maximum
        lockFile = port_lock_file(path + ".lock")
        guard lockFile >= 0 else {
            let number = errno
            if number == EWOULDBLOCK { throw Self.taken(path) }
            if number == ENOENT || number == ENOTDIR {
                throw TransportError(.notFound, "The folder for the socket \(path) does not exist.")
            }
            throw .system("locking \(path).lock", number, context: [path])
        }
        do {
            descriptor = try Self.bind(path, backlog)
        } catch {
            unlink(path + ".lock")
            port_close(lockFile)
            throw error
        }
        identity = Self.identity(at: path) ?? (0, 0)
    }

    /// Listens at a socket that a service manager opened and passed to this process; its file stays when this one
    /// closes.
    ///
    /// - Parameters:
    ///   - name: What the service manager calls it; nil: the first that is not taken.
    ///   - maximum: How many connections may be open at a time; further ones wait in the kernel.
    /// - Throws: `notActivated` if there is none; `wrongDescriptor` if it is no listening Unix domain socket.
    package init(
        activatedAs name: String?, loop: EventLoop = .shared, maximum: Int = .max
    ) throws(TransportError) {
        let passed = try ActivationSockets.shared.take(named: name)
        self.loop = loop
        self.maximum = maximum
        descriptor = passed.descriptor
        // The socket is shared with the service manager, which only polls it. The poller may report a connection that
        // its peer has given up meanwhile, and a loop that waits in `accept` for the next one would stand still.
        _ = port_set_nonblocking(descriptor)
        _ = port_pass_descriptors(descriptor, false)
        lockFile = -1
        identity = (0, 0)
        path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            port_bound_path(passed.descriptor, start, buffer.count)
            return String(cString: start)
        }
    }

    deinit {
        close()
        lock.destroy()
    }

    private static func taken(_ path: String) -> TransportError {
        TransportError(.nameTaken, "Another listener has \(path).", context: [path])
    }

    /// The identity of the file at a path: its device and number.
    private static func identity(at path: String) -> (UInt64, UInt64)? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }

    private static func bind(_ path: String, _ backlog: Int) throws(TransportError) -> CInt {
        var status = stat()
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw TransportError(.wrongDescriptor, "\(path) exists and is not a socket.", context: [path])
            }
            // A process that does not use the lock may listen there.
            let probe = port_connect(path)
            // A full queue also has an owner.
            let isAlive = probe >= 0 || errno == EAGAIN
            if probe >= 0 { port_close(probe) }
            if isAlive { throw taken(path) }
            unlink(path)
        }
        let descriptor = port_bind(path, 0o600)
        guard descriptor >= 0 else {
            let number = errno
            if number == EADDRINUSE { throw taken(path) }
            throw .system("binding to \(path)", number, context: [path])
        }
        if port_listen(descriptor, CInt(clamping: backlog)) < 0 {
            let number = errno
            unlink(path)
            port_close(descriptor)
            throw .system("listening at \(path)", number, context: [path])
        }
        return descriptor
    }

    /// Begins to accept.
    ///
    /// The loop holds the listener until `close`.
    ///
    /// - Parameters:
    ///   - onPause: Called on the loop when the listener stops accepting for a while: most often because the process or
    ///     the system has no descriptor left, or because as many connections are open as may be. Called again only
    ///     after it has accepted a connection.
    ///   - acceptor: Called on the loop for each connection; it has to call `connectionEnded` once for each, sooner or
    ///     later.
    package func start(
        onPause: (@Sendable (TransportError) -> Void)? = nil, _ acceptor: @escaping Acceptor
    ) throws(TransportError) {
        try lock.withLock { () throws(TransportError) in
            guard !state.isClosed, state.source == 0 else { return }
            state.acceptor = acceptor
            state.onPause = onPause
            state.source = try loop.addSource(descriptor, interest: UInt32(PORT_READABLE), self)
            state.interest = UInt32(PORT_READABLE)
        }
    }

    /// Stops listening and removes the socket.
    ///
    /// Open connections stay open. Does nothing the second time.
    package func close() {
        let held = lock.lock()
        guard !state.isClosed else { return lock.unlock(held) }
        state.isClosed = true
        let hooks = (state.acceptor, state.onPause)
        (state.acceptor, state.onPause) = (nil, nil)
        if let timer = state.timer { loop.cancelTimer(timer) }
        if state.source != 0 { loop.removeSource(state.source, descriptor, interest: state.interest) }
        lock.unlock(held)
        withExtendedLifetime(hooks) {}
        guard loop.isAlive, lockFile >= 0 else {
            // A forked child leaves the parent's files alone.
            port_close(descriptor)
            if lockFile >= 0 { port_close(lockFile) }
            return
        }
        if let found = Self.identity(at: path), found == identity { unlink(path) }
        port_close_listener(descriptor)
        // Removed while the lock is held, so that a later owner's lock file is never removed.
        unlink(path + ".lock")
        port_close(lockFile)
    }

    func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)? {
        acceptAvailable()
        return nil
    }

    private func acceptAvailable() {
        for _ in 0..<Self.readBudget {
            let held = lock.lock()
            guard !state.isClosed, let acceptor = state.acceptor else { return lock.unlock(held) }
            guard state.open < maximum else {
                rest(held)
                return lock.unlock(held)
            }
            let accepted = port_accept(descriptor)
            let number = errno
            guard accepted >= 0 else {
                if number != EAGAIN, number != EWOULDBLOCK { pause(number, held) }
                return lock.unlock(held)
            }
            state.pausesAgain = false
            state.open += 1
            lock.unlock(held)
            let endpoint = ChannelEndpoint(link: .socket(accepted), credentials: .connected)
            loop.perform { acceptor(endpoint, endpoint.peer) }
        }
    }

    /// An accepted connection has ended, so there is room for another.
    package func connectionEnded() {
        lock.withLock { held in
            state.open -= 1
            guard state.isFull else { return }
            state.isFull = false
            listen(held)
        }
    }

    /// Stops accepting for a while: the socket stays readable, so trying again at once would spin.
    private func pause(_ number: CInt, _ held: borrowing Held<State>) {
        ignore(.system("accepting a connection", number, context: [path]), held)
        state.timer = loop.addTimer(after: Self.pause) { [weak self] in self?.resume() }
    }

    /// Stops accepting until a connection ends.
    private func rest(_ held: borrowing Held<State>) {
        state.isFull = true
        ignore(
            TransportError(
                .limitExceeded, "\(state.open) connections are open, as many as the listener may have.",
                context: [path]), held)
    }

    private func ignore(_ reason: TransportError, _ held: borrowing Held<State>) {
        loop.changeSource(state.source, descriptor, from: state.interest, to: 0)
        state.interest = 0
        guard !state.pausesAgain, let onPause = state.onPause else { return }
        state.pausesAgain = true
        loop.perform { onPause(reason) }
    }

    private func listen(_ held: borrowing Held<State>) {
        guard !state.isClosed, state.interest == 0 else { return }
        state.interest = UInt32(PORT_READABLE)
        loop.changeSource(state.source, descriptor, from: 0, to: state.interest)
    }

    private func resume() {
        lock.withLock { held in
            state.timer = nil
            listen(held)
        }
    }
}
