import PortTransport

/// What a transition of the state wants done; performed after the lock is given up.
enum Completion: @unchecked Sendable {
    // Owned by one thread at a time: handed over, never shared.

    case reply(Waiter, Reply)
    case fail(Waiter, any Error)
    /// A one-way message was committed, or never will be.
    case oneWay(OneWayWaiter, (any Error)?)
    /// An object whose `deinit` is the user's.
    case release(AnyObject)
    /// The peer has let go of an object of this side.
    case unexport(Export)
    /// An answer nobody waits for any more.
    case discard(Reply)
    case peerSaidGoodbye
    /// What an orderly close waited for may have been the last.
    case closeIfIdle
    case recycle(OutboundMessage)
    case cancel(RunningCall)
    /// A call of ours that nobody waits for any more: what is left of it to write need not be.
    case abort(UInt64)
    case cancelTimer(TimerToken)
    case event(ConnectionEvent)
    case pong(UnsafeContinuation<Void, any Error>, (any Error)?)
    case perform(@Sendable () -> Void)
    /// The last of all: the end is told.
    case ended(ConnectionEnd)

    /// Whether the user's code runs, which belongs on the loop.
    var runsUserCode: Bool {
        switch self {
        case .release, .cancel, .event, .perform, .ended: true
        // Else the last reference is the user's, and goes where the user lets it go.
        case .unexport(let export): export.holdsObjectAlone
        // Their objects are let go.
        case .discard(let reply): reply.tables != nil
        case .recycle(let message): message.encoder.hasTables
        case .reply, .fail, .oneWay, .peerSaidGoodbye, .closeIfIdle, .abort, .cancelTimer, .pong: false
        }
    }

    func perform(on connection: Connection) {
        switch self {
        case .reply(let waiter, let reply):
            waiter.complete(.success(reply), connection)
        case .fail(let waiter, let error):
            waiter.complete(.failure(error), connection)
        case .oneWay(let waiter, let error):
            waiter.complete(error, connection)
        case .release, .unexport:
            break
        case .discard(let reply):
            if reply.bulk > 0 { connection.consumed(bulk: reply.bulk) }
        case .peerSaidGoodbye:
            connection.peerSaidGoodbye()
        case .closeIfIdle:
            connection.finishClosingIfIdle()
        case .recycle(let message):
            connection.coder.recycle(message)
        case .cancel(let call):
            call.cancel()
        case .abort(let number):
            connection.channel.abort(number)
        case .cancelTimer(let token):
            connection.loop.cancelTimer(token)
        case .event(let event):
            connection.report(event)
        case .pong(let continuation, nil):
            continuation.resume()
        case .pong(let continuation, let error?):
            continuation.resume(throwing: error)
        case .perform(let work):
            work()
        case .ended(let end):
            connection.tell(end)
        }
    }
}

/// What one turn wants done, in order.
///
/// Nearly always it is one answer, which has a place of its own: moved, and not counted on the way.
struct Completions: ~Copyable {
    private var waiter: Waiter?
    private var reply: Reply?
    /// Nil and not empty where there is nothing: these are moved around with every turn.
    private var rest: [Completion]?

    mutating func append(_ completion: Completion) {
        if rest == nil { rest = [] }
        rest?.append(completion)
    }

    mutating func append(answer waiter: consuming Waiter, with reply: consuming Reply) {
        guard self.waiter == nil, rest == nil else { return append(.reply(waiter, reply)) }
        self.waiter = waiter
        self.reply = reply
    }

    /// Takes out the answer that the task of a scope waits for, unless others came before it.
    @inline(__always)
    mutating func takeAnswer(for scope: Unmanaged<CallScope>) -> Reply? {
        guard case .scope(let other)? = waiter, other.toOpaque() == scope.toOpaque() else { return nil }
        waiter = nil
        return reply.take()
    }

    var isEmpty: Bool { waiter == nil && rest == nil }

    @inline(__always)
    private mutating func answer(_ connection: Connection) {
        guard let waiter = waiter.take(), let reply = reply.take() else { return }
        waiter.complete(with: consume reply, connection)
    }

    consuming func perform(on connection: Connection, onLoop: Bool) {
        if waiter != nil { answer(connection) }
        guard let rest = rest.take() else { return }
        connection.perform(consume rest, onLoop: onLoop)
    }
}
