import KeyedArchive
import PortTransport

/// The protocol state of one side of a connection: its tables, its counters and its queues.
///
/// Its methods are pure transitions: none does I/O, calls user code, waits or makes a system call. A transition writes frames
/// into the outbox, which is emptied into the channel before the lock is released. A frame gets its number, its watermark and its
/// place in the queue in one step, so the order of transitions is the order on the wire. A transition appends all other work to
/// `actions`, which the caller performs after it has released the lock. The host answers questions about the channel, the clock
/// and the proxies for the peer's objects.
///
/// The state lies in three parts. `Questions` is the caller's half and `Serving` the owner's half. `Session` is what both need; it
/// has a part for each thing that the two sides talk about. Parts know those below them, and no part knows this type. What is
/// here and in the two other files passes frames and messages to the parts, and has the steps that concern several.
///
/// A transition may take locks, each for a moment: those of the process's tables of described classes
/// (`DescribedClass.of`) and of message tables (`ClassMessages.known`, if the thread used another class last), the two
/// of `BlobReturns`, that of `ReceivedShapes`, and in the host the queue lock and the gate of the channel. That is
/// sound, because a transition runs no user code under these locks and takes no other lock there: they come last in
/// every order of locks.
struct Conversation<Host: ConversationHost>: ~Copyable {
    var session: Session<Host>
    var questions = Questions<Host>()
    var serving: Serving<Host>
    private(set) var framesIn: UInt64 = 0

    init(_ settings: ConversationSettings) {
        session = Session(settings)
        serving = Serving(settings.limits)
    }

    /// The number of frames written so far.
    var sent: UInt64 { session.outbox.written }

    var phase: Life.Phase { session.life.phase }

    /// Whether the last read left no work besides actions.
    var isSettled: Bool {
        serving.ready.isEmpty && serving.waitingBytes.isEmpty && session.credit.held.isEmpty
            && !(session.credit.isFresh && !questions.pending.isEmpty)
    }

    /// Counts a frame of the peer.
    mutating func count(_ frame: borrowing InboundFrame) {
        session.entered = frame.number
        framesIn += 1
    }

    // MARK: The handshake

    /// Enters the peer's `Hello`.
    mutating func receive(
        _ hello: HelloFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        try session.handshake.receive(hello, isInitiator: host.isInitiator, session.settings.program)
        session.credit.begin(session.handshake.grants, runningCalls: session.limits.runningCalls)
        // By its Hello the peer has accepted this side, and may call from now on.
        if host.isInitiator { session.life.enter(.open) }
        actions.append(.decideOnPeer(hello.program))
    }

    /// Refuses the peer, as the accept rule decided.
    mutating func refusePeer(_ reason: String, _ actions: inout [Action<Host>]) {
        session.handshake.decision = .refused
        session.writeGoodbye(.refused, reason)
        for call in serving.ready.removeAll() { actions.append(.release(call)) }
    }

    /// Accepts the peer, as the accept rule decided.
    ///
    /// - Returns: Whether calls wait to be started, and how the connection has ended meanwhile; nil if it has not.
    mutating func acceptPeer(sharesMemory: Bool) -> (hasCalls: Bool, end: ConnectionEnd?) {
        if phase == .handshake {
            session.writeHello(isInitiator: false, sharesMemory: sharesMemory)
            session.life.enter(.open)
        }
        session.handshake.decision = .accepted
        return (!serving.ready.isEmpty, session.life.verdict)
    }

    // MARK: Two ends in one process

    /// What this side grants, without a Hello.
    var grantsWithinProcess: PeerGrants {
        let limits = session.limits
        return PeerGrants(
            HelloFrame(
                Features.all.subtracting(.ofSharedMemory), queuedCalls: limits.queuedCalls,
                runningCalls: limits.runningCalls, message: limits.message,
                ConnectionProgram(name: "", version: "")))
    }

    /// Opens the conversation without a handshake.
    mutating func open(granted grants: PeerGrants) {
        session.handshake.grants = grants
        session.handshake.decision = .accepted
        session.credit.begin(grants, runningCalls: session.limits.runningCalls)
        session.memory.giveUp()
        session.life.enter(.open)
    }

    /// Whether neither side can use the conversation any more: there are no references, calls and streams.
    var isUnused: Bool {
        mutating get {
            let hasCalls =
                questions.count > 0 || !questions.pending.isEmpty || serving.unfinished > 0 || serving.count > 0
            let hasReferences = session.references.importCount > 0 || session.references.exportCount > 0
            return session.isOpen && !hasCalls && !hasReferences && session.streams.isEmpty
        }
    }

    /// How far the peers use the conversation.
    ///
    /// - Parameter roots: The objects that the peer may refer to although it does not use the conversation.
    mutating func use(besides roots: Set<ObjectIdentifier>) -> IdleWatch.Use {
        let isBusy =
            !session.isOpen || questions.count > 0 || !questions.pending.isEmpty || serving.count > 0
            || session.references.importCount > 0 || !session.streams.isEmpty
            || session.memory.blobs?.usedCount ?? 0 > 0
            || session.references.exports(besides: roots)
        return IdleWatch.Use(isBusy: isBusy, activity: framesIn &+ sent &- session.pings.frames)
    }

    // MARK: The end

    /// Begins an orderly close: calls that wait for credit fail, and calls under way are answered.
    ///
    /// - Parameter decision: Why this side ends the connection; nil if the peer does.
    /// - Returns: False if the connection was never open and has to be cut.
    mutating func beginClosing(because decision: ConnectionEnd?, _ actions: inout [Action<Host>]) -> Bool {
        if let decision { session.life.decide(decision) }
        guard phase == .open else { return phase != .handshake }
        session.life.enter(.closing)
        session.streams.close(&session.outbox, &actions)
        questions.failPending(
            ConnectionError(.notSent, "the connection is closing; the call was not sent"), &actions)
        return true
    }

    /// Writes the Goodbye of an orderly close, once all calls in both directions are answered.
    ///
    /// The Goodbye does not wait for calls that were cancelled: their methods may never return, and nobody waits for
    /// the answers.
    mutating func sayGoodbyeIfIdle() -> Bool {
        guard phase == .closing, serving.hasOnlyCancelled, !session.outbox.isClosed, !questions.isAwaited else {
            return false
        }
        session.writeGoodbye(.closed, "")
        return true
    }

    /// Fails the calls that the peer had not answered before its Goodbye, because it sends no more answers.
    ///
    /// The calls fail at once: the peer may wait for a method of this side that waits for one of these calls.
    mutating func failUnanswered(_ host: Host, _ name: String, _ actions: inout [Action<Host>]) {
        guard let goodbye = session.life.peerGoodbye else { return }
        let end = ConnectionEnd.closedByPeer(goodbye.text)
        questions.failUnanswered(end, session.life, host, name, &actions)
        failPings(end, name, &actions)
    }

    private mutating func failPings(_ end: ConnectionEnd, _ name: String, _ actions: inout [Action<Host>]) {
        for continuation in session.pings.removeAll() {
            actions.append(.pong(continuation, ConnectionError(.closed, end.description, context: name)))
        }
    }

    /// Fails everything that waits for the peer, because no more input comes from it.
    ///
    /// No message is sent after this transition, and only the transition `end(_:)` follows. If the function is called
    /// again, the reason of the first call stays.
    ///
    /// - Parameter channel: The reason that the end of the channel gives by itself.
    /// - Returns: The reason that the first call gave.
    mutating func endCalls(
        _ host: Host, _ name: String, _ actions: inout [Action<Host>], because channel: ConnectionEnd
    ) -> ConnectionEnd {
        if let verdict = session.life.verdict { return verdict }
        let end = session.life.end(channel)
        questions.end(end, session.life, host, name, &actions)
        failPings(end, name, &actions)
        let partialStreams = session.large.arriving.values.compactMap { partial in
            if case .stream(let stream) = partial.recipient { stream as? StreamInbox } else { nil }
        }
        session.streams.end(end, name, partial: partialStreams, &actions)
        return end
    }

    /// The last transition.
    ///
    /// The transition empties every table. Its actions cancel the running methods and release the objects that the peer
    /// referred to.
    mutating func end(_ actions: inout [Action<Host>]) {
        session.life.enter(.ended)
        session.outbox.close()
        let leftovers = Leftovers()
        let (exports, waiting) = session.references.removeAll()
        leftovers.exports = exports
        leftovers.partials = session.large.removeAll()
        leftovers.regions = session.memory.removeAll()
        let (answers, calls) = serving.removeAll(&actions)
        leftovers.answers = answers
        leftovers.calls = calls + waiting
        actions.append(.release(leftovers))
    }
}

/// Objects that a connection held when it ended.
private final class Leftovers: @unchecked Sendable {
    // The object is made under the lock. Then one thread owns it.
    var exports: [Export] = []
    var calls: [InboundCall] = []
    var answers: [KeptAnswer] = []
    var partials: [PartialMessage] = []
    var regions: [AnyObject] = []
}
