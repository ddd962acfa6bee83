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
            hold: { $0.session.streams.hold($1, for: inbox) },
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
                hold: { $0.session.streams.holdUntilEnd($1, of: inbox) },
                withdraw: { _, call in inbox.finalWaiters.removeAll { $0.isThread(in: call) } })
        }
    }
}
