import KeyedArchive
import PortTransport
import Synchronization

extension Connection {
    /// - Parameter limit: How long to wait for room; `nil`: as long as it takes.
    func sendOneWay(_ message: OutboundMessage, within limit: Duration? = nil) async throws {
        if try offerOneWay(message) { return }
        try await sendOneWayLater(message, limit)
    }

    /// Waits for room, on the executor of the task: that says whom it serves.
    @concurrent
    func sendOneWayLater(_ message: OutboundMessage, _ limit: Duration?) async throws {
        try checkMayWait(message)
        let place = OneWayPlace()
        let name = message.name
        let timer = limit.map { limit in
            loop.addTimer(after: limit) { self.withdraw(place, Self.noRoom(within: limit, name)) }
        }
        defer { if let timer { loop.cancelTimer(timer) } }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                queueOneWay(message, place, .task(continuation))
            }
        } onCancel: {
            withdraw(place, CancellationError())
        }
    }

    /// What serves a one-way message of this connection must not wait for room for another.
    ///
    /// Room comes when one-way messages end, and on both sides they could wait for each other.
    func checkMayWait(_ message: OutboundMessage) throws {
        guard state.withLock({ $0.credit.separatesOneWays }), let scope = ThreadTasks.current?.pointee.scope,
            scope._withUnsafeGuaranteedRef({ $0.connection === self && $0.servesOneWay })
        else { return }
        let name = message.name
        coder.recycle(message)
        throw ConnectionError(
            .overloaded,
            "no room for a one-way message, and a method that serves one does not wait for it: call, or send it from a task of its own",
            context: name)
    }

    static func noRoom(within limit: Duration, _ name: String) -> ConnectionError {
        ConnectionError(
            .deadlineExceeded, "there was no room for the message within \(limit); it was not sent", context: name)
    }

    func sendOneWayBlocking(_ message: OutboundMessage, within limit: Duration? = nil) throws {
        try checkMayBlock(message)
        if try offerOneWay(message) { return }
        let name = message.name
        let call = BlockingCall()
        let place = OneWayPlace()
        queueOneWay(message, place, .blocking(call))
        try wait(for: call, until: limit.map { Deadline(after: $0, at: now) }) { deadline in
            let error = Self.noRoom(within: deadline.limit, name)
            withdraw(place, error)
            return error
        }
        _ = try call.get()
    }

    /// - Returns: Whether there was room and the message is on its way.
    ///
    /// - Parameter reportsLosses: Whether to throw if messages sent earlier are lost.
    func offerOneWay(_ message: OutboundMessage, reportsLosses: Bool = true) throws -> Bool {
        let outcome = state.withLock { state -> SendOutcome<Void> in
            do {
                try state.checkOpen(message)
            } catch {
                return .failed(error)
            }
            if reportsLosses, let loss = state.oneWays.takeLosses() { return .failed(loss) }
            return state.offer(message, self) ? .written(()) : .waiting(())
        }
        switch outcome {
        case .written:
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

    func queueOneWay(_ message: OutboundMessage, _ place: OneWayPlace, _ waiter: OneWayWaiter) {
        let outcome = state.withLock { $0.send(message, place, waiter, self) }
        switch outcome {
        case .written:
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

    func withdraw(_ place: OneWayPlace, _ error: any Error) {
        transition { state, actions in state.withdraw(place, error, &actions) }
    }
}
