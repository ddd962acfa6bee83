import PortTransport

// For threads that run no task.
extension StreamHandle {
    /// The next frame, or the end, as `next(after:)`: blocks the calling thread.
    ///
    /// - Throws: `ConnectionError.deadlineExceeded`. The stream goes on then.
    func nextBlocking(after finished: StreamItems?, until deadline: Deadline?) throws -> StreamInbox.Next {
        let next = poll(after: finished)
        guard case .nothing = next else { return next }
        try connection.block(
            until: deadline, "no element came",
            hold: { $0.streams.hold($1, for: inbox) },
            withdraw: { _, call in if inbox.waiter?.isThread(in: call) == true { inbox.waiter = nil } })
        return poll(after: nil)
    }

    /// Waits until the reader of the stream has come to the end, as `waitForEnd()`: blocks the calling thread.
    ///
    /// - Throws: `ConnectionError.deadlineExceeded`.
    func waitForEndBlocking(until deadline: Deadline?) throws {
        while !isDone {
            try connection.block(
                until: deadline, "the stream was not read to its end",
                hold: { $0.streams.holdUntilEnd($1, of: inbox) },
                withdraw: { _, call in inbox.finalWaiters.removeAll { $0.isThread(in: call) } })
        }
    }
}

extension Connection {
    /// Blocks the calling thread until a stream resumes it.
    ///
    /// The thread reads the connection meanwhile.
    ///
    /// - Parameters:
    ///   - failure: What to say at the deadline.
    ///   - hold: Enters the waiter under the lock; false if the thread need not wait.
    ///   - withdraw: Removes the waiter under the lock, because the thread stops waiting.
    func block(
        until deadline: Deadline?, _ failure: String,
        hold: (inout Conversation<Connection>, StreamWaiter) -> Bool,
        withdraw: (inout Conversation<Connection>, BlockingCall) -> Void
    ) throws {
        let call = BlockingCall()
        guard state.withLock({ hold(&$0, .thread(call)) }) else { return }
        do {
            try wait(for: call, until: deadline) { deadline in
                ConnectionError(.deadlineExceeded, "\(failure) within \(deadline.limit)", context: "the stream")
            }
            _ = try call.get()
        } catch {
            state.withLock { withdraw(&$0, call) }
            throw error
        }
    }
}

extension StreamWaiter {
    func resume(_ connection: Connection) {
        switch self {
        case .task(let continuation): continuation.resume()
        case .thread(let call):
            _ = call.complete(.success(nil))
            if !call.isOwn { connection.channel.signalBlockingReaders() }
        }
    }
}
