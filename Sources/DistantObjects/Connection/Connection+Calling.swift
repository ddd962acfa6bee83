import KeyedArchive
import PortTransport
import Synchronization

// Calls from here: question, commit, and who waits.
extension Connection {
    /// Sends a call and waits for its answer.
    ///
    /// The message is the connection's from here on.
    @inline(__always)
    func send(_ message: OutboundMessage) async throws -> Reply {
        let (ticket, isCovered) = try reserve(message)
        if isCovered {
            return try await withUnsafeThrowingContinuation { continuation in
                commit(message, ticket, .task(continuation))
            }
        }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                commit(message, ticket, .task(continuation))
            }
        } onCancel: {
            giveUp(ticket, CancellationError())
        }
    }

    func sendBlocking(_ message: OutboundMessage) throws -> Reply {
        try checkMayBlock(message)
        let (ticket, _) = try reserve(message)
        let call = BlockingCall()
        commit(message, ticket, .blocking(call))
        try wait(for: call)
        guard let reply = try call.get() else {
            throw ConnectionError(.closed, "the connection ended", context: message.name)
        }
        return reply
    }

    func sendOneWay(_ message: OutboundMessage) async throws {
        if try commitOneWay(message) { return }
        let place = OneWayPlace()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                queueOneWay(message, place, .task(continuation))
            }
        } onCancel: {
            withdraw(place)
        }
    }

    func sendOneWayBlocking(_ message: OutboundMessage) throws {
        try checkMayBlock(message)
        if try commitOneWay(message) { return }
        let call = BlockingCall()
        queueOneWay(message, OneWayPlace(), .blocking(call))
        try wait(for: call)
        _ = try call.get()
    }

    // MARK: Questions

    /// - Returns: Also whether the calling task is in `run`, which passes its cancellation on to this question.
    private func reserve(_ message: OutboundMessage) throws -> (Ticket, isCovered: Bool) {
        do {
            return try state.withLock { state in
                try state.checkOpen(message)
                guard !state.runs.isEmpty, let run = state.currentRun() else {
                    return (state.questions.reserve(), false)
                }
                if run.isCancelled { throw CancellationError() }
                return (state.questions.reserve(run: run.number), true)
            }
        } catch {
            coder.recycle(message)
            throw error
        }
    }

    private func commit(_ message: OutboundMessage, _ ticket: Ticket, _ waiter: Waiter) {
        let deadline = message.deadline
        let outcome = state.withLock { state -> CommitOutcome in
            guard state.questions.phase(of: ticket) == .reserved else {
                // Given up between reserve and commit: the slot has never been on the wire.
                if state.questions.phase(of: ticket) == .withdrawn { state.questions.finish(ticket.index) }
                return .failed(CancellationError())
            }
            if let failure = state.whyClosed {
                state.questions.finish(ticket.index)
                return .failed(failure)
            }
            if state.pending.isEmpty, state.credits > 0 {
                let number = state.commitCall(message, question: ticket, to: channel)
                state.questions.commit(ticket, number: number, waiter: waiter)
                return .committed
            }
            state.pending.append(PendingCommit(message: message, kind: .question(ticket, waiter)))
            return .waiting
        }
        switch outcome {
        case .committed:
            coder.recycle(message)
            channel.setNeedsFlush()
        case .failed(let error):
            coder.recycle(message)
            Completion.fail(waiter, error).perform(on: self)
            return
        case .waiting:
            break
        }
        if let deadline { startTimer(ticket, deadline) }
    }

    private func startTimer(_ ticket: Ticket, _ deadline: Duration) {
        let timer = loop.addTimer(after: deadline) { [self] in
            giveUp(
                ticket, ConnectionError(.deadlineExceeded, "no answer came within \(deadline)"))
        }
        let isLate = state.withLock { state in
            guard var question = state.questions[ticket] else { return true }
            question.timer = timer
            state.questions[ticket] = question
            return false
        }
        if isLate { loop.cancelTimer(timer) }
    }

    /// The caller waits no longer.
    ///
    /// What was committed stays a question until its `Return` comes.
    func giveUp(_ ticket: Ticket, _ error: any Error) {
        let completions = state.withLock { state -> [Completion] in
            state.giveUp(ticket, error, to: channel)
        }
        for completion in completions { completion.perform(on: self) }
        channel.setNeedsFlush()
    }

    // MARK: Inside `run`

    /// The calling task begins a `run`, to be ended with `endRun`.
    func beginRun() -> LoopRun? {
        withUnsafeCurrentTask { task in
            guard let task else { return nil }
            return state.withLock { state in
                state.lastRun &+= 1
                let run = LoopRun(state.lastRun, of: task)
                state.runs.append(run)
                return run
            }
        }
    }

    func endRun(_ run: LoopRun) {
        state.withLock { state in state.runs.removeAll { $0 === run } }
    }

    /// The task in a `run` was cancelled, and with it every call it waits for there.
    func cancel(_ run: LoopRun) {
        let completions = state.withLock { state -> [Completion] in
            run.isCancelled = true
            return state.questions.tickets(ofRun: run.number).flatMap {
                state.giveUp($0, CancellationError(), to: channel)
            }
        }
        for completion in completions { completion.perform(on: self) }
        channel.setNeedsFlush()
    }

    // MARK: One-way messages

    /// - Returns: Whether there was room and the message is on its way.
    private func commitOneWay(_ message: OutboundMessage) throws -> Bool {
        let outcome = state.withLock { state -> CommitOutcome in
            do {
                try state.checkOpen(message)
            } catch {
                return .failed(error)
            }
            guard state.pending.isEmpty, state.credits > 0 else { return .waiting }
            _ = state.commitCall(message, question: nil, to: channel)
            return .committed
        }
        switch outcome {
        case .committed:
            coder.recycle(message)
            channel.setNeedsFlush()
            return true
        case .waiting:
            return false
        case .failed(let error):
            coder.recycle(message)
            throw error
        }
    }

    private func queueOneWay(_ message: OutboundMessage, _ place: OneWayPlace, _ waiter: OneWayWaiter) {
        let outcome = state.withLock { state -> CommitOutcome in
            if let failure = state.whyClosed { return .failed(failure) }
            if place.isWithdrawn { return .failed(CancellationError()) }
            if state.pending.isEmpty, state.credits > 0 {
                _ = state.commitCall(message, question: nil, to: channel)
                return .committed
            }
            state.pending.append(PendingCommit(message: message, kind: .oneWay(place, waiter)))
            return .waiting
        }
        switch outcome {
        case .committed:
            coder.recycle(message)
            channel.setNeedsFlush()
            waiter.complete(nil, self)
        case .failed(let error):
            coder.recycle(message)
            waiter.complete(error, self)
        case .waiting:
            break
        }
    }

    private func withdraw(_ place: OneWayPlace) {
        let withdrawn = state.withLock { state -> PendingCommit? in
            place.isWithdrawn = true
            return state.pending.removeFirst {
                if case .oneWay(let other, _) = $0.kind { return other === place }
                return false
            }
        }
        guard let withdrawn, case .oneWay(_, let waiter) = withdrawn.kind else { return }
        coder.recycle(withdrawn.message)
        waiter.complete(CancellationError(), self)
    }

    // MARK: Plain threads

    private func checkMayBlock(_ message: OutboundMessage) throws {
        let isInTask = withUnsafeCurrentTask { task in
            if case .some = task { true } else { false }
        }
        guard !isInTask, !loop.isCurrent else {
            let name = message.name
            coder.recycle(message)
            throw ConnectionError(
                .wouldBlock, "a blocking call would stop this connection's loop or a task: use the async call here",
                context: name)
        }
    }

    private func wait(for call: BlockingCall) throws {
        while !call.isDone {
            _ = try channel.driveReading(until: { call.isDone }, deadline: nil)
        }
    }

    private enum CommitOutcome {
        case committed
        case waiting
        case failed(any Error)
    }
}

/// A task inside `Connection.run`.
///
/// Its calls need no cancellation handler of their own, which costs more than all else that a call does in the runtime.
/// Tasks it starts are other tasks, and theirs have one.
final class LoopRun: @unchecked Sendable {
    // `isCancelled` is read and written under the connection's lock.
    let number: UInt32
    /// Compared and nothing else, while the task is in `run`.
    private let task: UnsafeCurrentTask
    var isCancelled = false

    init(_ number: UInt32, of task: UnsafeCurrentTask) {
        self.number = number
        self.task = task
    }

    func isOf(_ task: UnsafeCurrentTask) -> Bool { self.task == task }
}

extension PortState {
    /// The run the calling task is in.
    func currentRun() -> LoopRun? {
        withUnsafeCurrentTask { task in
            guard let task else { return nil }
            for run in runs where run.isOf(task) { return run }
            return nil
        }
    }

    /// Why no call may be committed now; `nil` if it may.
    var whyClosed: ConnectionError? {
        switch phase {
        case .open:
            peerGoodbye == nil
                ? nil : ConnectionError(.closed, "the peer is closing the connection; the call was not sent")
        case .handshake:
            ConnectionError(.closed, "the connection is not open yet")
        case .closing:
            ConnectionError(.closed, "the connection is closing; the call was not sent")
        case .ended:
            ConnectionError(.closed, "the connection has ended; the call was not sent")
        }
    }

    borrowing func checkOpen(_ message: OutboundMessage) throws {
        if let whyClosed { throw whyClosed }
        if message.mayBeTooLarge { try checkSize(of: message) }
    }

    mutating func giveUp(_ ticket: Ticket, _ error: any Error, to channel: Channel) -> [Completion] {
        guard var question = questions[ticket] else { return [] }
        switch question.phase {
        case .reserved:
            if let waiting = pending.removeFirst(where: {
                if case .question(let other, _) = $0.kind { return other == ticket }
                return false
            }), case .question(_, let waiter) = waiting.kind {
                let timer = questions.finish(ticket.index).timer
                return [.recycle(waiting.message), .fail(waiter, error)] + (timer.map { [.cancelTimer($0)] } ?? [])
            }
            // The caller is between reserve and commit; commit will see it.
            question.phase = .withdrawn
            questions[ticket] = question
            return []
        case .sent:
            guard let waiter = question.waiter else { return [] }
            question.phase = .abandoned
            question.waiter = nil
            let timer = question.timer
            question.timer = nil
            questions[ticket] = question
            commitNumber(.cancel, UInt64(question.wire), to: channel)
            return [.fail(waiter, error), .abort(question.number)] + (phase == .closing ? [.closeIfIdle] : [])
                + (timer.map { [.cancelTimer($0)] } ?? [])
        case .free, .withdrawn, .abandoned:
            return []
        }
    }
}
