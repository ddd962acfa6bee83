internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Listens at a path of the file system and passes its connections on.
///
/// The path belongs to the process that has its lock: see `ListenerLock`. So a socket whose lock is free is stale and is
/// replaced. Both files have mode 0600.
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
        /// Called for a connection that takes one of the last descriptors, if the first function returns true.
        var lastAcceptor: (mayAccept: @Sendable () -> Bool, makeRoom: @Sendable () -> Void, acceptor: Acceptor)?
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
    /// Nil if the socket and its file belong to another process, which may give them to another one afterwards.
    private let place: SocketPlace?
    private let lock = StateLock<State>()
    private var state = State()

    /// Connections accepted before the loop serves other sources.
    private static let readBudget = 16
    /// How long to leave connections in the kernel's queue when no descriptor is left for them.
    private static let pause = Duration.milliseconds(20)

    /// Takes the path and listens; connections wait in the kernel until `start`.
    ///
    /// - Parameters:
    ///   - path: A relative path counts from the current directory of now.
    ///   - maximum: How many connections may be open at a time; further ones wait in the kernel.
    ///   - version: The version of this side, which other processes that want the path are told.
    /// - Throws: `pathTooLong`; `nameTaken` if somebody listens there; `wrongDescriptor` if a file is in the way that is no
    ///   socket, or no lock; `notFound` if the folder does not exist; `system`.
    package init(
        path: String, loop: EventLoop = .shared, backlog: Int = 512, maximum: Int = .max, version: UInt64 = 0
    ) throws(TransportError) {
        let taken = try SocketPlace.take(path, backlog: backlog, version: version)
        (place, descriptor) = (taken.place, taken.socket)
        self.path = taken.place.path
        self.loop = loop
        self.maximum = maximum
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
        let passed = try ActivationSockets.shared.takeListening(named: name)
        self.loop = loop
        self.maximum = maximum
        descriptor = passed.descriptor
        // The socket is shared with the service manager, which only polls it. The poller may report a connection that
        // its peer has given up meanwhile, and a loop that waits in `accept` for the next one would stand still.
        _ = port_set_nonblocking(descriptor)
        _ = port_pass_descriptors(descriptor, false)
        place = nil
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

    /// Sets what happens to connections for which only the last descriptors are left.
    ///
    /// Without this they wait in the kernel. With it one at a time is accepted all the same, with pauses, so that the
    /// acceptor can end another connection for it, or refuse it.
    ///
    /// - Parameters:
    ///   - mayAccept: Called under a lock; whether the acceptor may find a connection to end.
    ///   - makeRoom: Called on the loop if not even the last descriptors are left, because other code has opened them. It should
    ///     end a connection.
    ///   - acceptor: As in `start`.
    package func whenLastDescriptorsAreLeft(
        mayAccept: @escaping @Sendable () -> Bool, makeRoom: @escaping @Sendable () -> Void,
        _ acceptor: @escaping Acceptor
    ) {
        lock.withLock { if !state.isClosed { state.lastAcceptor = (mayAccept, makeRoom, acceptor) } }
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
        let hooks = (state.acceptor, state.onPause, state.lastAcceptor)
        (state.acceptor, state.onPause, state.lastAcceptor) = (nil, nil, nil)
        if let timer = state.timer { loop.cancelTimer(timer) }
        if state.source != 0 { loop.removeSource(state.source, descriptor, interest: state.interest) }
        lock.unlock(held)
        withExtendedLifetime(hooks) {}
        guard loop.isAlive, let place else {
            // A forked child leaves the parent's files alone.
            port_close(descriptor)
            place?.abandon()
            return
        }
        place.leave { port_close_listener(descriptor) }
    }

    /// Stops listening without losing a connection: those that wait in the kernel are accepted, and processes that connect later are
    /// refused by the kernel or wait for the next process, if the socket is a service manager's.
    ///
    /// Runs on the loop. Does nothing if the listener is closed.
    package func stopAfterLast() {
        let held = lock.lock()
        guard !state.isClosed, let acceptor = state.acceptor else { return lock.unlock(held) }
        if let place {
            place.leaveName()
            // From now on the kernel refuses clients. Those that wait in its queue stay there.
            port_refuse_further(descriptor)
        }
        lock.unlock(held)
        while true {
            let accepted = port_accept_last(descriptor)
            guard accepted >= 0 else { break }
            lock.withLock { state.open += 1 }
            pass(accepted, to: acceptor)
        }
        close()
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
                if number == EMFILE { acceptLast(held) }
                if number != EAGAIN, number != EWOULDBLOCK { pause(number, held) }
                return lock.unlock(held)
            }
            state.pausesAgain = false
            state.open += 1
            // Other threads may have opened descriptors since `port_accept` looked for one that is not among the last.
            let isLast = accepted >= port_peer_descriptors()
            let next = isLast ? state.lastAcceptor?.acceptor ?? acceptor : acceptor
            lock.unlock(held)
            pass(accepted, to: next)
        }
    }

    /// Accepts one connection although only the last descriptors are left.
    private func acceptLast(_ held: borrowing Held<State>) {
        guard let last = state.lastAcceptor, last.mayAccept() else { return }
        let accepted = port_accept_last(descriptor)
        guard accepted >= 0 else {
            if errno == EMFILE { loop.perform(last.makeRoom) }
            return
        }
        state.open += 1
        pass(accepted, to: last.acceptor)
    }

    private func pass(_ accepted: CInt, to acceptor: @escaping Acceptor) {
        let endpoint = ChannelEndpoint(link: .socket(accepted), credentials: .connected)
        loop.perform { acceptor(endpoint, endpoint.peer) }
    }

    /// How many accepted connections have not ended.
    package var openCount: Int { lock.withLock { state.open } }

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
