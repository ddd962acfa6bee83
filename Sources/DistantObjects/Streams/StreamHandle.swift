import KeyedArchive
import PortTransport

/// A stream of the peer as this process holds it: in a message's table, in a `DistantStream`, or in its iterator.
///
/// When the last reference to it is gone, the stream is no longer read, and its producer is stopped.
final class StreamHandle: Sendable {
    let inbox: StreamInbox
    let connection: Connection

    init(_ inbox: StreamInbox, on connection: Connection) {
        self.inbox = inbox
        self.connection = connection
    }

    deinit {
        if !inbox.isOver { connection.streamReaderDied(inbox) }
    }

    // MARK: Reading

    /// Begins to read the stream.
    ///
    /// - Returns: False if it was read or passed on before.
    func begin() -> Bool {
        let isFirst = connection.state.withLock { $0.streams.begin(inbox, &$0.outbox) }
        connection.channel.setNeedsFlush()
        return isFirst
    }

    /// The next frame, or the end.
    ///
    /// - Parameter finished: The frame before, whose items are all consumed.
    func next(after finished: StreamItems?) async throws -> StreamInbox.Next {
        if Task.isCancelled {
            stop(CancellationError())
            throw CancellationError()
        }
        let next = poll(after: finished)
        if case .nothing = next {} else { return next }
        await waitForFrame()
        return poll(after: nil)
    }

    func poll(after finished: StreamItems?) -> StreamInbox.Next {
        let (next, owesFlush) = connection.transition { state, actions in
            let sent = state.sent
            let next = state.streams.next(of: inbox, after: finished, &state.outbox, &actions)
            return (next, state.sent != sent)
        }
        if owesFlush { connection.channel.setNeedsFlush() }
        return next
    }

    private func waitForFrame() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let waits = connection.state.withLock { $0.streams.hold(.task(continuation), for: inbox) }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            stop(CancellationError())
        }
    }

    /// Waits until the reader of the stream has come to the end.
    ///
    /// - Throws: `CancellationError` if the calling task is cancelled.
    func waitForEnd() async throws {
        while !isDone {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let waits = connection.state.withLock { state in
                        !Task.isCancelled && state.streams.holdUntilEnd(.task(continuation), of: inbox)
                    }
                    if !waits { continuation.resume() }
                }
            } onCancel: {
                connection.transition { state, actions in state.streams.wakeFinalWaiters(of: inbox, &actions) }
            }
        }
    }

    /// Stops reading.
    func stop(_ error: any Error) {
        connection.transition { state, actions in state.streams.stopReading(inbox, error, &state.outbox, &actions) }
        connection.channel.setNeedsFlush()
    }

    /// Whether the reader has come to the end, or has given up.
    var isDone: Bool { connection.state.withLock { _ in inbox.reading == .done } }

    /// How the stream has ended, for a reader that is done.
    var end: StreamEnd? { connection.state.withLock { _ in inbox.end } }
}

extension Connection {
    func makeStreamReader(_ inbox: StreamInbox) -> AnyObject { StreamHandle(inbox, on: self) }

    /// What an object of a table of references is to this connection, if it stands for a stream of a peer.
    func entry(ofReader object: AnyObject) -> TableEntry? {
        guard let handle = object as? StreamHandle else { return nil }
        return handle.connection === self ? .stream(handle.inbox) : .foreign
    }

    /// Ends streams of the peer whose readers were freed.
    func stopReading(_ inboxes: [StreamInbox]) {
        transition { state, actions in
            let error = ConnectionError(.cancelled, "the stream was not read to its end")
            for inbox in inboxes { state.streams.stopReading(inbox, error, &state.outbox, &actions) }
        }
    }
}
