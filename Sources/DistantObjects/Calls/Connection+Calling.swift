import KeyedArchive
import PortTransport
import Synchronization

// Calls of this process: a question, a message and its waiter.
extension Connection {
    /// Sends a call and waits for its answer.
    ///
    /// The connection owns the message from here on; the caller holds the connection.
    @inline(__always)
    static func send(
        _ message: consuming OutboundMessage, over connection: Unmanaged<Connection>
    ) async throws -> Reply {
        guard let scope = connection._withUnsafeGuaranteedRef({ CallScope.current(on: $0) }) else {
            return try await connection.takeUnretainedValue().sendFromTask(message)
        }
        // The scope learns of a cancellation last, after the user's own handlers.
        if Task.isCancelled {
            connection._withUnsafeGuaranteedRef { $0.coder }.recycle(message)
            throw CancellationError()
        }
        // An actor must be free for others while its method waits, and a deadline needs a suspended task to resume.
        // A statement of its own: the right side of an operator is a closure, which has no isolation.
        let isOnActor = isIsolated()
        let waits = !isOnActor && message.deadline == nil && scope._withUnsafeGuaranteedRef { $0.mayWait() }
        // Unmanaged, because a closure would copy what it captures.
        let handed = Unmanaged.passRetained(message)
        if waits {
            let reply = try connection._withUnsafeGuaranteedRef { connection in
                try connection.send(handed.takeRetainedValue(), from: scope)
            }
            if let reply { return reply }
        }
        // See “Workarounds”: the other form switches executors once more.
        return try await _unsafeInheritExecutor_withUnsafeThrowingContinuation { continuation in
            connection._withUnsafeGuaranteedRef { connection in
                if waits {
                    connection.suspend(scope, continuation)
                } else {
                    connection.write(handed.takeRetainedValue(), nil, in: scope, .task(continuation))
                }
            }
        }
    }

    /// As `send`, from a task that the connection does not know.
    ///
    /// A function of its own: inlined, it would enlarge the frame of every call beyond the memory that a task has at hand.
    @inline(never)
    private func sendFromTask(_ message: consuming OutboundMessage) async throws -> Reply {
        let ticket = try reserve(message)
        let handed = Unmanaged.passRetained(message)
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                write(handed.takeRetainedValue(), ticket, in: nil, .task(continuation))
            }
        } onCancel: {
            giveUp(ticket, CancellationError())
        }
    }

    func sendBlocking(_ message: consuming OutboundMessage) throws -> Reply {
        try checkMayBlock(message)
        let name = message.name
        let deadline = message.deadline
        let call = BlockingCall()
        let ticket = write(message, nil, in: nil, .blocking(call), isBlocking: true)
        try wait(for: call, until: deadline) { deadline in
            let error = ConnectionError(.deadlineExceeded, "no answer came within \(deadline.limit)", context: name)
            if let ticket { giveUp(ticket, error) }
            return error
        }
        guard let reply = try call.get() else {
            throw ConnectionError(.closed, "the connection ended", context: name)
        }
        return reply
    }

    // MARK: Calls of a scope

    /// Sends a call of a scope's task, and waits inside its job while the loop has nothing else to do.
    ///
    /// Nearly always the answer comes next, and suspending and resuming a task costs more than the rest of a call.
    ///
    /// - Returns: The answer; nil if the task has to suspend for it.
    @inline(never)
    private func send(_ message: consuming OutboundMessage, from scope: Unmanaged<CallScope>) throws -> Reply? {
        switch write(message, from: scope) {
        case .failed(let error):
            coder.recycle(message)
            throw error
        case .waiting:
            // The end of a method's first job may have written something.
            channel.setNeedsFlush()
            return nil
        case .written:
            coder.recycle(message)
        }
        var waits = 0
        while true {
            switch channel.flushAndWait(for: self) {
            case .refused:
                channel.setNeedsFlush()
                if waits > 0 { scope._withUnsafeGuaranteedRef { $0.waitedInVain() } }
                return nil
            case .delivered:
                let (answer, isSettled) = state.withContent { ($0.takeAnswer(for: scope), $0.isSettled) }
                if !isSettled { loop.schedule(.turn, on: channel) }
                if let answer { return try answer.get() }
            case .over:
                if let answer = state.withContent({ $0.takeAnswer(for: scope) }) { return try answer.get() }
            }
            waits += 1
        }
    }

    @inline(__always)
    private func write(_ message: OutboundMessage, from scope: Unmanaged<CallScope>) -> SendOutcome<Ticket> {
        let (outcome, hasCalls) = state.withLock { state -> (SendOutcome<Ticket>, Bool) in
            do {
                try state.checkOpen(message)
                if scope._withUnsafeGuaranteedRef({ $0.isCancelled }) { throw CancellationError() }
            } catch {
                return (.failed(error), false)
            }
            let ticket = state.questions.reserve(in: scope.id)
            scope._withUnsafeGuaranteedRef {
                $0.waits(&state)
                $0.ticket = ticket
            }
            return (state.send(message, ticket, .scope(scope), self), state.hasStartable)
        }
        // They are the user's code, which does not run inside another job.
        if hasCalls { loop.perform { self.drain() } }
        return outcome
    }

    /// The task of a scope has suspended.
    @inline(never)
    private func suspend(_ scope: Unmanaged<CallScope>, _ continuation: UnsafeContinuation<Reply, any Error>) {
        let answer = state.withContent { content -> Result<Reply, any Error>? in
            if let answer = content.takeAnswer(for: scope) { return answer }
            scope._withUnsafeGuaranteedRef { scope in
                let isAsked = content.port.questions.replaceWaiter(of: scope.ticket, with: .task(continuation)) {
                    if case .scope = $0 { true } else { false }
                }
                if !isAsked { scope.suspend(continuation) }
            }
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }

    /// Gives the task of a scope what it waits for.
    func answer(_ scope: Unmanaged<CallScope>, _ result: sending Result<Reply, any Error>) {
        let continuation = state.withLock { _ in
            scope._withUnsafeGuaranteedRef { $0.leave(result) }
        }
        // The task may wait on the loop's thread, which is woken. The scope may be gone from here on.
        if let continuation { continuation.resume(with: result) } else { loop.perform {} }
    }

    // MARK: Questions

    private func reserve(_ message: OutboundMessage) throws -> Ticket {
        do {
            return try state.withLock { state in
                try state.checkOpen(message)
                return state.questions.reserve()
            }
        } catch {
            coder.recycle(message)
            throw error
        }
    }

    /// Writes a call, or queues it until there is credit.
    ///
    /// - Parameters:
    ///   - reserved: Nil if nobody has to know the question before it is written.
    ///   - scope: What cancels the call together with its task.
    ///   - isBlocking: The calling thread flushes while it waits, and watches the deadline.
    /// - Returns: The question; nil if the call has failed.
    @inline(never)
    @discardableResult
    private func write(
        _ message: consuming OutboundMessage, _ reserved: Ticket?, in scope: Unmanaged<CallScope>?,
        _ waiter: consuming AnswerWaiter, isBlocking: Bool = false
    ) -> Ticket? {
        let deadline = message.deadline.map { ($0, message.name) }
        switch write(message: message, reserved, in: scope, waiter) {
        case .written(let ticket):
            coder.recycle(message)
            if !isBlocking { channel.setNeedsFlush() }
            if let (deadline, name) = deadline, !isBlocking { startTimer(ticket, deadline, name) }
            return ticket
        case .waiting(let ticket):
            if let (deadline, name) = deadline, !isBlocking { startTimer(ticket, deadline, name) }
            return ticket
        case .failed(let error):
            coder.recycle(message)
            waiter.complete(.failure(error), self)
            return nil
        }
    }

    @inline(__always)
    private func write(
        message: OutboundMessage, _ reserved: Ticket?, in scope: Unmanaged<CallScope>?, _ waiter: AnswerWaiter
    ) -> SendOutcome<Ticket> {
        state.withLock { state in
            do {
                guard let ticket = reserved else {
                    try state.checkOpen(message)
                    if let scope, scope._withUnsafeGuaranteedRef({ $0.isCancelled }) { throw CancellationError() }
                    let ticket = state.questions.reserve(in: scope?.id)
                    scope?._withUnsafeGuaranteedRef { $0.ticket = ticket }
                    return state.send(message, ticket, waiter, self)
                }
                try state.checkReserved(ticket)
                return state.send(message, ticket, waiter, self)
            } catch {
                return .failed(error)
            }
        }
    }

    private func startTimer(_ ticket: Ticket, _ deadline: Deadline, _ name: String) {
        let left = Duration.microseconds(Int64(clamping: deadline.microseconds(at: loop.now)))
        let timer = loop.addTimer(after: left) { [self] in
            giveUp(
                ticket,
                ConnectionError(.deadlineExceeded, "no answer came within \(deadline.limit)", context: name))
        }
        if !state.withLock({ $0.questions.setTimer(timer, of: ticket) }) { loop.cancelTimer(timer) }
    }

    /// The caller waits no longer.
    ///
    /// What was written stays a question until its `Return` comes.
    func giveUp(_ ticket: Ticket, _ error: any Error) {
        transition { state, actions in state.giveUp(ticket, error, &actions) }
        channel.setNeedsFlush()
    }

    /// A task was cancelled, and with it every call it waits for in `scope`.
    func cancelCalls(in scope: CallScope) {
        let isOpen = transition { state, actions in
            scope.isCancelled = true
            guard state.questions.isOpen(scope.ticket, in: ObjectIdentifier(scope)) else { return false }
            state.giveUp(scope.ticket, CancellationError(), &actions)
            return true
        }
        if isOpen { channel.setNeedsFlush() }
    }

    // MARK: Plain threads

    func checkMayBlock(_ message: OutboundMessage) throws {
        guard currentTask() == 0, !loop.isCurrent, !EventLoop.isOnThread else {
            let name = message.name
            coder.recycle(message)
            throw ConnectionError(
                .wouldBlock, "a blocking call would stop a connection's loop or a task: use the async call here",
                context: name)
        }
    }

    /// Reads until the call is answered, the deadline has passed or the input has ended.
    ///
    /// - Parameter giveUp: What to do at the deadline; returns the error that the call then ends with.
    func wait(
        for call: BlockingCall, until deadline: Deadline?, _ giveUp: (Deadline) -> any Error
    ) throws {
        // By the thread's own clock: a loop whose threads are all blocked runs no timer.
        var end = deadline.map { monotonicNow(after: .microseconds(Int64(clamping: $0.microseconds(at: loop.now)))) }
        while !call.isDone {
            var isLate = false
            switch try channel.driveReading(until: { call.isDone }, deadline: end, flushing: true) {
            case .done:
                return
            case .deadlineExceeded:
                isLate = true
            case .ended:
                let signals = channel.signals
                if let reason = channel.endOfInput() { failCalls(reason, onLoop: false) }
                // Another thread may be about to answer or fail it, and signals then.
                if !call.isDone { isLate = !channel.awaitSignal(after: signals, until: end) }
            }
            guard isLate, let deadline else { continue }
            end = nil
            // An answer may arrive at the same time; the first of the two counts.
            _ = call.complete(.failure(giveUp(deadline)))
        }
    }
}

/// Whether the caller runs on an actor.
@inline(__always)
private func isIsolated(_ isolation: isolated (any Actor)? = #isolation) -> Bool { isolation != nil }

extension Unmanaged<CallScope> {
    /// What a question compares.
    var id: ObjectIdentifier { _withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
}
