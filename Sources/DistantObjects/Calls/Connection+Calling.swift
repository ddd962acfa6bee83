import KeyedArchive
import PortTransport
import Synchronization

// Sending a call, which becomes a question, a frame and a waiter. The ways to send one:
//
//     sendCall                  from a task; uses one of these three:
//       sendCallInJob             the task has a scope: waits inside the task's job, as long as nothing else arrives
//       writeOrQueueCall          the task has a scope, but suspends at once: on an actor, with a deadline, or after
//                                 waits in vain
//       sendCallOutsideScope      the task has no scope: suspends at once, with a cancellation handler
//     sendCallBlocking          from a thread that runs no task: blocks it
//
// `sendCallInJob` takes the lock in `sendCallInJobUnderLock`. All others use `writeOrQueueCall`, which takes it in
// `sendCallUnderLock`. Both call `Conversation.sendCall`. `sendCallOutsideScope` takes the lock once more before, in `reserve`,
// because its cancellation handler has to know the question. One-way messages are in Connection+Sending.swift.
extension Connection {
    /// Sends a call of a task and waits for its answer.
    ///
    /// The connection owns the message from now on. The caller holds the connection.
    @inline(__always)
    static func sendCall(
        _ message: consuming OutboundMessage, over connection: Unmanaged<Connection>
    ) async throws -> Reply {
        guard let scope = connection._withUnsafeGuaranteedRef({ CallScope.current(on: $0) }) else {
            return try await sendCallOutsideScope(message, over: connection)
        }
        // The scope's cancellation handler runs last, after the user's own.
        if Task.isCancelled {
            connection._withUnsafeGuaranteedRef { $0.coder }.recycle(message)
            throw CancellationError()
        }
        // An actor must be free for others while its method waits, and a deadline can only resume a suspended task.
        // `isOnActor` is a separate statement because the right side of an operator is a closure, which has no isolation.
        let isOnActor = isIsolated()
        let waits = !isOnActor && message.deadline == nil && scope._withUnsafeGuaranteedRef { $0.mayWait() }
        // Unmanaged, because the closure would retain the message.
        let handed = Unmanaged.passRetained(consume message)
        if waits {
            let reply = try connection._withUnsafeGuaranteedRef { connection in
                try connection.sendCallInJob(handed.takeRetainedValue(), from: scope)
            }
            if let reply { return reply }
        }
        // This form of the function does not switch executors; see “Workarounds”. It pays in the row `null-call` of
        // `distant-bench` with the API `run`.
        return try await _unsafeInheritExecutor_withUnsafeThrowingContinuation { continuation in
            connection._withUnsafeGuaranteedRef { connection in
                if waits {
                    connection.suspendTask(of: scope, continuation)
                } else {
                    connection.writeOrQueueCall(handed.takeRetainedValue(), nil, in: scope, .task(continuation))
                }
            }
        }
    }

    /// Sends a call of a task that has no scope on this connection, and waits for its answer.
    ///
    /// It is not inlined, because that would enlarge the async frame of every call beyond the memory that a task has at hand.
    @inline(never)
    private static func sendCallOutsideScope(
        _ message: consuming OutboundMessage, over connection: Unmanaged<Connection>
    ) async throws -> Reply {
        let (ticket, mayWait) = try connection._withUnsafeGuaranteedRef { try $0.reserve(message) }
        let handed = Unmanaged.passRetained(consume message)
        // These forms of the functions do not switch executors; see “Workarounds”. They pay in the row `null-call` with the
        // API `task`.
        return try await _unsafeInheritExecutor_withTaskCancellationHandler {
            try await _unsafeInheritExecutor_withUnsafeThrowingContinuation { continuation in
                connection._withUnsafeGuaranteedRef {
                    $0.sendReserved(
                        handed.takeRetainedValue(), ticket, mayWait: mayWait, .task(continuation))
                }
            }
        } onCancel: {
            connection._withUnsafeGuaranteedRef { $0.giveUp(ticket, CancellationError()) }
        }
    }

    /// Sends a call of a task that has no scope and suspends for the answer.
    ///
    /// - Parameter mayWait: Whether the calling thread may wait for the answer first.
    @inline(__always)
    private func sendReserved(
        _ message: consuming OutboundMessage, _ ticket: Ticket, mayWait: Bool, _ waiter: consuming AnswerWaiter
    ) {
        // With a deadline the call needs a timer, and a timer can only end a call whose task is suspended.
        let waits = mayWait && message.deadline == nil
        writeOrQueueCall(message, ticket, in: nil, waiter, isBlocking: waits)
        // Suspending the task and waking a thread for it costs more than a whole call whose answer comes at once.
        if waits, !channel.flushAndWaitBriefly(until: { isAnswered(ticket) }) { channel.setNeedsFlush() }
    }

    private func isAnswered(_ ticket: Ticket) -> Bool { state.withLock { !$0.questions.table.isOpen(ticket) } }

    /// Sends a call and blocks the calling thread until the answer arrives.
    func sendCallBlocking(_ message: consuming OutboundMessage) throws -> Reply {
        try checkMayBlock(message)
        let name = message.name
        let deadline = message.deadline
        let call = BlockingCall()
        let ticket = writeOrQueueCall(message, nil, in: nil, .blocking(call), isBlocking: true)
        try wait(for: call, until: deadline) { deadline in
            let error = ConnectionError(
                .deadlineExceeded, "no answer came within \(deadline.limit)",
                context: "\(name) over \(self.name)")
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
    /// Usually the answer is the next frame. Suspending and resuming a task costs more than the rest of a call.
    ///
    /// - Returns: The answer; nil if the task has to suspend for it.
    @inline(never)
    private func sendCallInJob(_ message: consuming OutboundMessage, from scope: Unmanaged<CallScope>) throws -> Reply?
    {
        switch sendCallInJobUnderLock(message, from: scope) {
        case .failed(let error):
            coder.recycle(message)
            throw error
        case .waiting:
            // The end of a method's first job may have written a frame.
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
                if !isSettled { loop.schedule(.notify, on: channel) }
                if let answer { return try answer.get() }
            case .over:
                if let answer = state.withContent({ $0.takeAnswer(for: scope) }) { return try answer.get() }
            }
            waits += 1
        }
    }

    @inline(__always)
    private func sendCallInJobUnderLock(
        _ message: OutboundMessage, from scope: Unmanaged<CallScope>
    ) -> SendOutcome<Ticket> {
        let (outcome, hasCalls) = state.withLock { state -> (SendOutcome<Ticket>, Bool) in
            let outcome = send(message, from: scope, .scope(scope), &state)
            if case .failed = outcome { return (outcome, false) }
            // The answer may depend on the object's next message, so the wait counts as the end of the task's first job.
            if let served = scope._withUnsafeGuaranteedRef({ $0.served }) {
                served._withUnsafeGuaranteedRef { state.firstJobReturned($0) }
            }
            return (outcome, state.serving.hasStartable)
        }
        // Calls are user code, which must not run inside another task's job.
        if hasCalls { loop.perform { self.drain() } }
        return outcome
    }

    /// Hands over the continuation of a scope's task, which has suspended after it waited inside its job.
    @inline(never)
    private func suspendTask(of scope: Unmanaged<CallScope>, _ continuation: UnsafeContinuation<Reply, any Error>) {
        let answer = state.withContent { content -> Result<Reply, any Error>? in
            if let answer = content.takeAnswer(for: scope) { return answer }
            scope._withUnsafeGuaranteedRef { scope in
                let isAsked = content.conversation.questions.table.replaceWaiter(
                    of: scope.ticket, with: .task(continuation)
                ) {
                    if case .scope = $0 { true } else { false }
                }
                if !isAsked { scope.suspend(continuation) }
            }
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }

    /// Gives the task of a scope its answer.
    func answer(_ scope: Unmanaged<CallScope>, _ result: sending Result<Reply, any Error>) {
        let continuation = state.withLock { _ in
            scope._withUnsafeGuaranteedRef { $0.leave(result) }
        }
        // The task may be waiting on the loop's thread, which the empty job wakes. The scope may be freed from now on.
        if let continuation { continuation.resume(with: result) } else { loop.perform {} }
    }

    // MARK: Questions

    /// - Returns: The question, and whether the calling thread may wait for its answer.
    private func reserve(_ message: OutboundMessage) throws -> (Ticket, Bool) {
        do {
            return try state.withContent { content in
                let ticket = try content.conversation.reserve(message, self)
                let open = content.conversation.questions.table.count
                let mayWait = content.callers.mayWait(open: open, task: currentTask())
                // Their threads need the processors, and a loop that polls would answer a few tasks at a time.
                if !mayWait, content.callers.endedAsMany { channel.skipPolls(UInt32(CallingTasks.callsBetweenRounds)) }
                return (ticket, mayWait)
            }
        } catch {
            coder.recycle(message)
            throw error
        }
    }

    /// Writes a call, or queues it until there is credit.
    ///
    /// If it fails, completes the waiter.
    ///
    /// - Parameters:
    ///   - reserved: The question, if it was reserved before; nil to reserve one now.
    ///   - scope: The scope that cancels the call together with its task.
    ///   - isBlocking: Whether the calling thread flushes and watches the deadline itself.
    /// - Returns: The question; nil if the call has failed.
    @inline(never)
    @discardableResult
    private func writeOrQueueCall(
        _ message: consuming OutboundMessage, _ reserved: Ticket?, in scope: Unmanaged<CallScope>?,
        _ waiter: consuming AnswerWaiter, isBlocking: Bool = false
    ) -> Ticket? {
        let deadline = message.deadline.map { ($0, message.name) }
        switch sendCallUnderLock(message, reserved, in: scope, waiter) {
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
    private func sendCallUnderLock(
        _ message: OutboundMessage, _ reserved: Ticket?, in scope: Unmanaged<CallScope>?, _ waiter: AnswerWaiter
    ) -> SendOutcome<Ticket> {
        state.withLock { state in
            guard let reserved else { return send(message, from: scope, waiter, &state) }
            return state.sendReserved(message, reserved, waiter, self)
        }
    }

    /// Sends a call with the lock held.
    ///
    /// - Parameter scope: The scope that cancels the call together with its task.
    @inline(__always)
    private func send(
        _ message: OutboundMessage, from scope: Unmanaged<CallScope>?, _ waiter: consuming AnswerWaiter,
        _ state: inout Conversation<Connection>
    ) -> SendOutcome<Ticket> {
        if let scope, scope._withUnsafeGuaranteedRef({ $0.isCancelled }) { return .failed(CancellationError()) }
        let outcome = state.sendCall(message, in: scope?.id, waiter, self)
        switch outcome {
        case .written(let ticket), .waiting(let ticket): scope?._withUnsafeGuaranteedRef { $0.ticket = ticket }
        case .failed: break
        }
        return outcome
    }

    private func startTimer(_ ticket: Ticket, _ deadline: Deadline, _ name: String) {
        let left = Duration.microseconds(Int64(clamping: deadline.microseconds(at: loop.now)))
        let timer = loop.addTimer(after: left) { [self] in
            giveUp(
                ticket,
                ConnectionError(
                    .deadlineExceeded, "no answer came within \(deadline.limit)",
                    context: "\(name) over \(self.name)"))
        }
        if !state.withLock({ $0.questions.table.setTimer(timer, of: ticket) }) { loop.cancelTimer(timer) }
    }

    /// Fails a call whose caller stops waiting.
    ///
    /// A call that was written keeps its question until the peer's `Return` comes.
    func giveUp(_ ticket: Ticket, _ error: any Error) {
        transition { state, actions in state.giveUp(ticket, error, &actions) }
        channel.setNeedsFlush()
    }

    /// Fails the call that the task of a scope waits for, because the task was cancelled.
    func cancelCalls(in scope: CallScope) {
        let isOpen = transition { state, actions in
            scope.isCancelled = true
            guard state.questions.table.isOpen(scope.ticket, in: ObjectIdentifier(scope)) else { return false }
            state.giveUp(scope.ticket, CancellationError(), &actions)
            return true
        }
        if isOpen { channel.setNeedsFlush() }
    }

    // MARK: Threads without a task

    /// Checks that the calling thread may block: it runs no task and belongs to no event loop.
    func checkMayBlock(_ message: OutboundMessage) throws {
        guard currentTask() == 0, !loop.isCurrent, !EventLoop.isOnThread else {
            let name = message.name
            coder.recycle(message)
            throw ConnectionError(
                .wouldBlock, "a blocking call would stop a connection's loop or a task: use the async call here",
                context: name)
        }
    }

    /// Reads the connection until the call is answered, the deadline has passed or the input has ended.
    ///
    /// - Parameter giveUp: Called at the deadline; returns the error for the call.
    func wait(
        for call: BlockingCall, until deadline: Deadline?, _ giveUp: (Deadline) -> any Error
    ) throws {
        // The thread measures the time itself, because a loop whose threads are all blocked runs no timer.
        var end = deadline.map { monotonicNow(after: .microseconds(Int64(clamping: $0.microseconds(at: loop.now)))) }
        while !call.isDone {
            var isLate = false
            switch try channel.readWhileWaiting(until: { call.isDone }, deadline: end, flushing: true) {
            case .done:
                return
            case .deadlineExceeded:
                isLate = true
            case .ended:
                let signals = channel.signals
                if let reason = channel.endOfInput() { failCalls(reason, onLoop: false) }
                // Another thread may be about to complete the call. It signals this thread when it has.
                if !call.isDone { isLate = !channel.awaitSignal(after: signals, until: end) }
            }
            guard isLate, let deadline else { continue }
            end = nil
            // If an answer arrives at the same time, the first of the two counts.
            _ = call.complete(.failure(giveUp(deadline)))
        }
    }
}

/// Whether the caller runs on an actor.
@inline(__always)
private func isIsolated(_ isolation: isolated (any Actor)? = #isolation) -> Bool { isolation != nil }

extension Unmanaged<CallScope> {
    /// The id of the scope that a question stores.
    var id: ObjectIdentifier { _withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
}
