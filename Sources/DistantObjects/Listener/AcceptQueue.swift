@_spi(Queues) import PortTransport
import Synchronization

/// The queue of connections whose handshake is done and that are not taken yet.
final class AcceptQueue: Sendable {
    /// Whether connections are still handed out.
    private enum Life {
        case open
        /// No more; those that were taken stay open, and others are closed in order.
        case left
        /// No more; all are closed in order, within that time.
        case closing(Duration)
    }

    private struct State: ~Copyable {
        var ready = Ring<Connection>()
        var waiting = Ring<(UInt64, CheckedContinuation<Connection?, Never>)>()
        var nextWaiter: UInt64 = 0
        var life = Life.open
        var counts: PeerCounts
        /// The connections that have not ended.
        var open: [ObjectIdentifier: Open] = [:]
        var opened: UInt64 = 0
        /// The instant, by the loop's clock, until which the first connection is waited for.
        var firstIsExpectedUntil: UInt64 = 0
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        /// The socket, which is notified of each connection that ends.
        ///
        /// Weak, because it holds this queue.
        weak var socket: SocketListener?

        /// The newest connection of the peer that has most, for a connection of a peer that has fewer.
        ///
        /// - Parameter peer: The other peer; nil if it is not known.
        /// - Returns: Nil if the other peer would be the largest one then.
        func newestOfLargest(besides peer: PeerIdentity?) -> Open? {
            let count = peer.map { counts.count(of: $0) } ?? 0
            guard let largest = counts.largest, largest.count > count + 1 else { return nil }
            return open.values.filter { $0.peer == largest.peer && !$0.makesRoom }.max { $0.number < $1.number }
        }

        var isEnded: Bool { if case .open = life { false } else { true } }

        /// It is ended, and so are all connections.
        var isOver: Bool { isEnded && open.isEmpty }

        mutating func takeEndWaiters() -> [CheckedContinuation<Void, Never>] {
            guard isOver else { return [] }
            defer { endWaiters = [] }
            return endWaiters
        }
    }

    /// An open connection.
    ///
    /// It is not held: a connection that its user drops ends. It is removed when it has ended, while it still exists.
    fileprivate struct Open {
        let number: UInt64
        let peer: PeerIdentity
        let connection: Unmanaged<Connection>
        /// It has to end for a connection of another peer.
        var makesRoom = false
    }

    /// Whether a peer's connection is accepted.
    private enum Verdict: Sendable {
        case admitted
        /// It takes the place of a connection of another peer.
        case instead(of: Connection, PeerIdentity, isFirst: Bool)
        case refused(reason: String, isFirst: Bool)
    }

    private let state: Mutex<State>
    private let configuration: Connection.SharedConfiguration
    let loop: EventLoop
    /// The listener's path or name, for error messages.
    private let place: String
    private let maximumOfPeer: Int

    init(configuration: Connection.SharedConfiguration, loop: EventLoop, place: String) {
        self.configuration = configuration
        self.loop = loop
        self.place = place
        maximumOfPeer = configuration.value.limits.connectionsOfPeer ?? 1
        state = Mutex(State(counts: PeerCounts(maximum: maximumOfPeer)))
    }

    /// Sets the socket whose connections are accepted, before the first one.
    func begin(with socket: SocketListener) { state.withLock { $0.socket = socket } }

    /// Whether a peer has connections of which one could make room for another peer.
    var mayMakeRoom: Bool { state.withLock { ($0.counts.largest?.count ?? 0) > 1 } }

    /// Makes a connection of an accepted socket, unless the peer has too many.
    ///
    /// Runs on the loop.
    ///
    /// - Parameter makingRoom: Whether only the last descriptors are left, so that another connection has to end for it.
    func accept(_ endpoint: ChannelEndpoint, of credentials: PeerCredentials?, makingRoom: Bool = false) {
        let peer = PeerIdentity(credentials)
        switch admit(peer, makingRoom: makingRoom) {
        case .admitted: break
        case .instead(let other, let holder, let isFirst): end(other, of: holder, isFirst)
        case .refused(let reason, let isFirst):
            if isFirst { report(credentials, reason) }
            // Without waiting for its Hello, so that a silent peer uses no resources.
            Connection.refuse(endpoint, reason, loop: loop)
            state.withLock { $0.socket }?.connectionEnded()
            return
        }
        // This cannot fail, because the loop exists. If it did, the endpoint would be closed.
        guard let connection = try? Connection.make(endpoint, configuration, isInitiator: false) else {
            return ended(peer)
        }
        state.withLock { state in
            state.opened += 1
            state.open[ObjectIdentifier(connection)] = Open(
                number: state.opened, peer: peer, connection: .passUnretained(connection))
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

    private func admit(_ peer: PeerIdentity, makingRoom: Bool) -> Verdict {
        state.withLock { state in
            let other = makingRoom ? state.newestOfLargest(besides: peer) : nil
            if makingRoom, other == nil {
                return .refused(
                    reason: "no descriptors are left for more connections of \(peer)",
                    isFirst: state.counts.refuse(peer))
            }
            if case .refused(let isFirst) = state.counts.enter(peer) {
                return .refused(
                    reason: "\(maximumOfPeer) connections of \(peer) are open, as many as a peer may have",
                    isFirst: isFirst)
            }
            guard PeerDescriptors.shared.reserve(1, for: peer, atLeast: maximumOfPeer) else {
                state.counts.leave(peer)
                return .refused(
                    reason: "\(peer) uses half of the descriptors, as many as a peer may use",
                    isFirst: state.counts.refuse(peer))
            }
            guard let other else { return .admitted }
            let connection = other.connection.takeUnretainedValue()
            state.open[ObjectIdentifier(connection)]?.makesRoom = true
            return .instead(of: connection, other.peer, isFirst: state.counts.refuse(other.peer))
        }
    }

    /// Ends the newest connection of the peer that has most, for one that waits in the kernel and cannot be accepted.
    ///
    /// It ends one at a time. Who connects is not known yet: the largest peer itself has its connection refused afterwards.
    func makeRoom() {
        let room = state.withLock { state -> (Connection, PeerIdentity, Bool)? in
            guard !state.open.values.contains(where: { $0.makesRoom }), let other = state.newestOfLargest(besides: nil)
            else { return nil }
            let connection = other.connection.takeUnretainedValue()
            state.open[ObjectIdentifier(connection)]?.makesRoom = true
            return (connection, other.peer, state.counts.refuse(other.peer))
        }
        if let (connection, holder, isFirst) = room { end(connection, of: holder, isFirst) }
    }

    private func end(_ connection: Connection, of holder: PeerIdentity, _ isFirst: Bool) {
        let reason = "other processes need the descriptors, of which \(holder) uses most"
        if isFirst { report(connection.peer, reason) }
        connection.refuse(because: reason)
    }

    /// Counts the end of a connection that was admitted.
    private func ended(_ peer: PeerIdentity) {
        PeerDescriptors.shared.giveBack(1, for: peer)
        let socket = state.withLock { state in
            state.counts.leave(peer)
            return state.socket
        }
        socket?.connectionEnded()
    }

    /// Reports that a peer was refused.
    private func report(_ credentials: PeerCredentials?, _ reason: String) {
        let error = ConnectionError(.peerRefused, reason, context: place)
        configuration.value.onEvent?(.tooManyConnections(credentials, error))
    }

    private func deliver(_ connection: Connection) {
        let (waiter, life) = state.withLock { state -> (CheckedContinuation<Connection?, Never>?, Life) in
            if state.isEnded { return (nil, state.life) }
            if let (_, waiter) = state.waiting.popFirst() { return (waiter, .open) }
            // `forget` removes one that ends after this check.
            if !connection.hasEnded { state.ready.append(connection) }
            return (nil, .open)
        }
        waiter?.resume(returning: connection)
        switch life {
        case .open: break
        // Its peer may use it already, and gets a goodbye.
        case .left: connection.beginClosing(timeout: Self.timeOfUntaken)
        // It is being closed, unless it was accepted at that moment.
        case .closing(let timeout): connection.beginClosing(timeout: timeout)
        }
    }

    /// Removes a connection that has ended, which may not have been taken.
    private func forget(_ connection: Connection) {
        let waiters = state.withLock { state in
            state.open[ObjectIdentifier(connection)] = nil
            _ = state.ready.removeFirst { $0 === connection }
            return state.takeEndWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Counts as used until the first connection comes, but no longer than that.
    func expectConnection(within time: Duration) {
        state.withLock { $0.firstIsExpectedUntil = loop.now + time.nanoseconds }
    }

    /// How far the connections are used.
    var use: IdleWatch.Use {
        let (open, opened, socket, isEarly) = state.withLock { state in
            (
                state.open.values.map { $0.connection.takeUnretainedValue() }, state.opened, state.socket,
                state.opened == 0 && loop.now < state.firstIsExpectedUntil
            )
        }
        // One may be accepted, and not made yet.
        let isAccepting = socket.map { $0.openCount > open.count } ?? false
        // A connection that ends takes its uses along: what a new one adds must not make up for them.
        let start = IdleWatch.Use(isBusy: isEarly || isAccepting, activity: opened << 40)
        return open.reduce(into: start) { use, connection in
            let own = connection.use
            use.isBusy = use.isBusy || own.isBusy
            use.activity &+= own.activity
        }
    }

    var isClosed: Bool { state.withLock { $0.isEnded } }

    /// Waits for the end of the queue and of all connections.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.endWaiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
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

    /// How long connections that nobody has taken may take to close, if those that were taken stay open.
    private static let timeOfUntaken = Duration.seconds(5)

    /// - Parameter timeout: How long the connections may take to close; nil to leave those open that were taken.
    func end(closing timeout: Duration?) {
        let (waiting, closing, endWaiters) = state.withLock { state in
            if let timeout { state.life = .closing(timeout) } else if !state.isEnded { state.life = .left }
            let untaken = state.ready.removeAll()
            let closing = timeout == nil ? untaken : state.open.values.map { $0.connection.takeUnretainedValue() }
            return (state.waiting.removeAll(), closing, state.takeEndWaiters())
        }
        for (_, continuation) in waiting { continuation.resume(returning: nil) }
        for waiter in endWaiters { waiter.resume() }
        for connection in closing { connection.beginClosing(timeout: timeout ?? Self.timeOfUntaken) }
    }
}
