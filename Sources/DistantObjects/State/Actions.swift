import PortTransport

/// What a transition leaves to be done once the lock is given up.
enum Action<Host: PortHost>: @unchecked Sendable {
    // Owned by one thread at a time: handed over, never shared.

    case reply(Host.Waiter, Reply)
    case fail(Host.Waiter, any Error)
    /// A one-way message is on its way, or never will be.
    case oneWay(Host.RoomWaiter, (any Error)?)
    /// The answer to a ping or a barrier has come, or never will.
    case pong(UnsafeContinuation<Void, any Error>, (any Error)?)
    /// An answer that nobody waits for any more.
    case discard(Reply)
    /// The encoder of a message that was sent, or never will be.
    case recycle(OutboundMessage)
    /// An object whose `deinit` is the user's.
    case release(AnyObject)
    /// The peer has let go of an object of this side.
    case unexport(Export)
    case cancel(Host.RunningCall)
    /// A call of ours that nobody waits for any more: what is left of it need not be written.
    case abort(UInt64)
    case cancelTimer(TimerToken)
    case event(ConnectionEvent)
    /// The peer has said Hello under this name; the accept rule, the user's code, decides about it.
    case decideOnPeer(name: String)
    case peerSaidGoodbye
    /// What an orderly close waited for may have been the last.
    case closeIfIdle
    /// Large messages may go on.
    case flush
    /// The connection has to look again once no more than so many bytes of answers are unsent.
    case awaitAnswers(atMost: Int)
    /// The patience with a peer that does not read its answers runs.
    case startAnswerTimer
    /// A burst of large answers is over.
    case releaseFreeMemory
    /// Lets the roots go.
    case endRoots
    /// The last of all: those who wait for the end are resumed.
    case ended(ConnectionEnd)

    /// Whether the user's code runs, which belongs on the loop.
    var runsUserCode: Bool {
        switch self {
        case .release, .cancel, .event, .decideOnPeer, .endRoots, .ended: true
        // Else the last reference is the user's, and goes where the user lets it go.
        case .unexport(let export): export.holdsObjectAlone
        // Their objects are let go.
        case .discard(let reply): reply.tables != nil
        case .recycle(let message): message.encoder.hasTables
        case .reply, .fail, .oneWay, .pong, .abort, .cancelTimer, .peerSaidGoodbye, .closeIfIdle, .flush,
            .awaitAnswers, .startAnswerTimer, .releaseFreeMemory:
            false
        }
    }
}

/// What one or several transitions want done, in order.
///
/// Nearly always it is one answer, which has a place of its own: moved, not counted on the way, and without an allocation.
struct Actions<Host: PortHost>: ~Copyable, @unchecked Sendable {
    // Owned by one thread at a time, as each of them.

    private var waiter: Host.Waiter?
    private var reply: Reply?
    /// Nil and not empty where there is nothing: these are moved around with every turn.
    private var rest: [Action<Host>]?

    var isEmpty: Bool { waiter == nil && rest == nil }

    mutating func append(_ action: Action<Host>) {
        if rest == nil { rest = [] }
        rest?.append(action)
    }

    mutating func append(answer waiter: consuming Host.Waiter, with reply: consuming Reply) {
        guard self.waiter == nil, rest == nil else { return append(.reply(waiter, reply)) }
        self.waiter = waiter
        self.reply = reply
    }

    /// Takes out the answer, if it comes first and its waiter is the one meant.
    @inline(__always)
    mutating func takeAnswer(where isMeant: (Host.Waiter) -> Bool) -> Reply? {
        guard let waiter, isMeant(waiter) else { return nil }
        self.waiter = nil
        return reply.take()
    }

    /// Takes everything out.
    mutating func takeAll() -> Actions<Host> {
        var taken = Actions<Host>()
        swap(&taken, &self)
        return taken
    }

    /// Takes out what is no answer of ours, as a list.
    mutating func takeList() -> [Action<Host>] { rest.take() ?? [] }

    /// Hands everything out in order: the answer that has a place of its own, which comes first, then the rest.
    @inline(__always)
    consuming func perform(
        answer: (consuming Host.Waiter, consuming Reply) -> Void, others: (consuming [Action<Host>]) -> Void
    ) {
        if let waiter = waiter.take(), let reply = reply.take() { answer(waiter, reply) }
        if let rest = rest.take() { others(rest) }
    }
}
