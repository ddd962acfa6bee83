import KeyedArchive
import PortTransport
import Synchronization

extension Connection {
    /// Sends a one-way message, and waits while there is no room for it.
    ///
    /// - Parameter limit: How long to wait; `nil` for no limit.
    func sendOneWay(_ message: OutboundMessage, within limit: Duration? = nil) async throws {
        if try offerOneWay(message) { return }
        try await sendOneWayLater(message, limit)
    }

    /// Waits for room, then sends the message.
    ///
    /// It runs on the task's executor, because `checkMayWait` looks for the task's scope there.
    @concurrent
    func sendOneWayLater(_ message: OutboundMessage, _ limit: Duration?) async throws {
        try checkMayWait(message)
        let place = OneWayPlace()
        let name = message.name
        let timer = limit.map { limit in
            loop.addTimer(after: limit) { self.withdrawOneWay(place, Self.noRoom(within: limit, name)) }
        }
        defer { if let timer { loop.cancelTimer(timer) } }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                queueOneWay(message, place, .task(continuation))
            }
        } onCancel: {
            withdrawOneWay(place, CancellationError())
        }
    }

    /// Checks that the caller does not serve a one-way message of this connection.
    ///
    /// Room comes when one-way messages end. If their methods waited for room, both sides could wait for each other.
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

    /// Sends a one-way message, and blocks the calling thread while there is no room for it.
    func sendOneWayBlocking(_ message: OutboundMessage, within limit: Duration? = nil) throws {
        try checkMayBlock(message)
        if try offerOneWay(message) { return }
        let name = message.name
        let call = BlockingCall()
        let place = OneWayPlace()
        queueOneWay(message, place, .blocking(call))
        try wait(for: call, until: limit.map { Deadline(after: $0, at: now) }) { deadline in
            let error = Self.noRoom(within: deadline.limit, name)
            withdrawOneWay(place, error)
            return error
        }
        _ = try call.get()
    }

    /// Sends a one-way message if there is room for it.
    ///
    /// - Parameter reportsLosses: Whether to throw if messages sent earlier are lost.
    /// - Returns: Whether the message was sent.
    func offerOneWay(_ message: OutboundMessage, reportsLosses: Bool = true) throws -> Bool {
        let outcome = state.withLock { state -> SendOutcome<Void> in
            do {
                try state.checkOpen(message, self)
            } catch {
                return .failed(error)
            }
            if reportsLosses, state.hasLosses, let loss = state.oneWays.takeLosses() { return .failed(loss) }
            return state.offerOneWay(message, self) ? .written(()) : .waiting(())
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

    /// Sends a one-way message, or queues it until there is room.
    ///
    /// Completes the waiter once the message is written.
    func queueOneWay(_ message: OutboundMessage, _ place: OneWayPlace, _ waiter: OneWayWaiter) {
        let outcome = state.withLock { $0.sendOneWay(message, place, waiter, self) }
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

    /// Removes a one-way message from the queue, because its sender stops waiting.
    func withdrawOneWay(_ place: OneWayPlace, _ error: any Error) {
        transition { state, actions in state.withdrawOneWay(place, error, &actions) }
    }
}
