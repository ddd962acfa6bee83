import PortTransport

/// What a transition leaves to be done once the lock is given up.
enum Action<Host: PortHost>: @unchecked Sendable {
    // Owned by one thread at a time: handed over, never shared.

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
        case .fail, .oneWay, .pong, .abort, .cancelTimer, .peerSaidGoodbye, .closeIfIdle, .flush,
            .awaitAnswers, .startAnswerTimer, .releaseFreeMemory:
            false
        }
    }
}

/// What the frames of a read want done: answers first, then all else in order.
///
/// Nearly always it is one answer, which has a place of its own: moved, not counted on the way, and without an allocation.
struct Actions<Host: PortHost>: ~Copyable, @unchecked Sendable {
    // Owned by one thread at a time, as each of them.

    private struct Answer {
        let waiter: Host.Waiter
        let reply: Reply
    }

    private var first: Answer?
    private var answers: [Answer] = []
    var others: [Action<Host>] = []

    var isEmpty: Bool { first == nil && others.isEmpty }

    mutating func append(_ action: Action<Host>) { others.append(action) }

    mutating func append(answer waiter: consuming Host.Waiter, with reply: consuming Reply) {
        let answer = Answer(waiter: waiter, reply: reply)
        if first == nil { first = answer } else { answers.append(answer) }
    }

    /// Takes out the answer, if it comes first and its waiter is the one meant.
    @inline(__always)
    mutating func takeAnswer(where isMeant: (Host.Waiter) -> Bool) -> Reply? {
        guard let answer = first, isMeant(answer.waiter) else { return nil }
        first = nil
        if !answers.isEmpty { first = answers.removeFirst() }
        return answer.reply
    }

    /// Takes everything out.
    mutating func takeAll() -> Actions<Host> {
        var taken = Actions<Host>()
        swap(&taken, &self)
        return taken
    }

    /// Hands everything out.
    @inline(__always)
    consuming func perform(
        answer: (consuming Host.Waiter, consuming Reply) -> Void, others: (consuming [Action<Host>]) -> Void
    ) {
        if let first = first.take() { answer(first.waiter, first.reply) }
        if !answers.isEmpty { for more in answers { answer(more.waiter, more.reply) } }
        if !self.others.isEmpty { others(self.others) }
    }
}
