@_spi(Queues) import PortTransport

/// Work that a transition leaves to its caller, to be done after the lock is released.
enum Action<Host: ConversationHost>: @unchecked Sendable {
    // One thread owns an action at a time: actions are handed over, never shared.

    /// Resume the waiter of a call with an error.
    case fail(Host.Waiter, any Error)
    /// Resume the sender of a one-way message that was written or has failed.
    case oneWay(Host.RoomWaiter, (any Error)?)
    /// Resume the waiter for a ping or a barrier that was answered or has failed.
    case pong(UnsafeContinuation<Void, any Error>, (any Error)?)
    /// Drop an answer that no longer has a waiter, or what is left of another message that nothing reads: its tables,
    /// and the credit for its bytes.
    case discard(Reply)
    /// Reuse a message that was sent or has failed.
    case recycle(OutboundMessage)
    /// Release an object whose `deinit` may be user code.
    case release(AnyObject)
    /// Release an object of this side that the peer has released.
    case unexport(Export)
    /// Cancel the method of a call of the peer.
    case cancel(Host.RunningCall)
    /// Stop writing a call of this side whose waiter has given up. The number is that of the call's opener, its first
    /// frame.
    case abort(UInt64)
    case cancelTimer(TimerToken)
    case event(ConnectionEvent)
    /// Ask the accept rule, which is user code, about a peer that has said Hello under this name.
    case decideOnPeer(ConnectionProgram)
    case peerSaidGoodbye
    /// Go on with an orderly close if the close has nothing left to wait for.
    case closeIfIdle
    /// Work for a stream.
    case stream(StreamAction)
    /// Flush the channel: large messages have credit again.
    case flush
    /// Have the channel call back once at most this many bytes of answers are unsent.
    case awaitAnswers(atMost: Int)
    /// Start the timer for a peer that does not read its answers.
    case startAnswerTimer
    /// Check after a while whether regions for blobs are idle.
    case watchBlobs
    /// Return free memory to the system after a burst of large answers.
    case releaseFreeMemory
    /// Release the root objects.
    case endRoots
    /// Resume the waiters for the end of the connection. This is the last action.
    case ended(ConnectionEnd)

    /// Whether the action runs user code, which has to run on the loop.
    var runsUserCode: Bool {
        switch self {
        case .release, .cancel, .event, .decideOnPeer, .endRoots, .ended: true
        // If the export does not hold the last reference, its release runs no `deinit`.
        case .unexport(let export): export.holdsObjectAlone
        case .stream(let action): action.runsUserCode
        // The objects in the tables of the answer or message are released with it.
        case .discard(let reply): reply.tables != nil
        case .recycle(let message): message.encoder.hasTables
        case .fail, .oneWay, .pong, .abort, .cancelTimer, .peerSaidGoodbye, .closeIfIdle, .flush,
            .awaitAnswers, .startAnswerTimer, .watchBlobs, .releaseFreeMemory:
            false
        }
    }
}

extension Action: StreamWork, MemoryWork {}

extension Action {
    /// Gives the peer room for so many bytes in the window for large messages; see `LaidAside`.
    static func giveBack(_ largeBytes: Int, _ actions: inout [Action<Host>]) {
        guard largeBytes > 0 else { return }
        actions.append(.discard(Reply(status: .result, body: .empty, largeBytes: largeBytes, tables: nil)))
    }
}

/// The actions that the frames of one read leave: answers first, then the others in order.
///
/// Usually there is one answer. It has its own property, so that it is moved without an allocation or a retain.
struct Actions<Host: ConversationHost>: ~Copyable, @unchecked Sendable {
    // One thread owns the actions at a time, like each single action.

    // A tuple and no struct: the elements of a tuple are moved out, where the properties of a struct are copied.
    private typealias Answer = (waiter: Host.Waiter, reply: Reply)

    private var first: Answer?
    private var answers = Ring<Answer>()
    var others: [Action<Host>] = []

    var isEmpty: Bool { first == nil && others.isEmpty }

    mutating func append(_ action: Action<Host>) { others.append(action) }

    mutating func append(answer waiter: consuming Host.Waiter, with reply: consuming Reply) {
        if first == nil { first = (waiter, reply) } else { answers.append((waiter, reply)) }
    }

    /// Removes and returns the first answer if its waiter is the one that `isMeant` looks for.
    @inline(__always)
    mutating func takeAnswer(where isMeant: (Host.Waiter) -> Bool) -> Reply? {
        guard let answer = first, isMeant(answer.waiter) else { return nil }
        first = nil
        first = answers.popFirst()
        return answer.reply
    }

    mutating func takeAll() -> Actions<Host> {
        var taken = Actions<Host>()
        swap(&taken, &self)
        return taken
    }

    /// Passes all actions to the closures.
    @inline(__always)
    consuming func perform(
        answer: (consuming Host.Waiter, consuming Reply) -> Void, others: (consuming [Action<Host>]) -> Void
    ) {
        if let (waiter, reply) = first.take() { answer(waiter, reply) }
        while let (waiter, reply) = answers.popFirst() { answer(waiter, reply) }
        guard !self.others.isEmpty else { return }
        // The array is moved out of this value: with a second reference to the array, a change would copy all its
        // objects.
        var rest: [Action<Host>] = []
        swap(&rest, &self.others)
        others(consume rest)
    }
}
