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
    /// - Parameter readAhead: The most items that may wait; nil to follow the reader.
    /// - Returns: False if it was read or passed on before.
    func begin(readingAhead readAhead: Int?) -> Bool {
        let isFirst = connection.state.withLock {
            $0.session.streams.begin(inbox, ReadAhead(readAhead), &$0.session.outbox)
        }
        connection.channel.setNeedsFlush()
        return isFirst
    }

    /// The next frame, or the end.
    ///
    /// - Parameters:
    ///   - finished: The frame before, whose items are all consumed.
    ///   - limit: How long to wait; nil for no limit.
    /// - Throws: `CancellationError`, which stops the stream; `ConnectionError.deadlineExceeded`, after which it goes on.
    func next(after finished: StreamItems?, within limit: Duration? = nil) async throws -> StreamInbox.Next {
        if Task.isCancelled {
            stop(CancellationError())
            throw CancellationError()
        }
        let next = poll(after: finished)
        if case .nothing = next {} else { return next }
        guard let limit else {
            await waitForFrame()
            return poll(after: nil)
        }
        let isLate = await waitForFrame(within: limit)
        let last = poll(after: nil)
        if case .nothing = last, isLate, !Task.isCancelled { throw await noElement(within: limit) }
        return last
    }

    func poll(after finished: StreamItems?) -> StreamInbox.Next {
        let now = connection.now
        let (next, owesFlush) = connection.transition { state, actions in
            let sent = state.sent
            let next = state.session.streams.next(
                of: inbox, after: finished, at: now, &state.session.outbox, &actions)
            return (next, state.sent != sent)
        }
        if owesFlush { connection.channel.setNeedsFlush() }
        return next
    }

    func waitForFrame(_ wait: TimedWait? = nil) async {
        await withTaskCancellationHandler {
            try? await withUnsafeThrowingContinuation { continuation in
                let waits = connection.state.withLock { state in
                    wait?.isLate != true && state.session.streams.hold(.task(continuation), for: inbox)
                }
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
                try? await withUnsafeThrowingContinuation { continuation in
                    let waits = connection.state.withLock { state in
                        !Task.isCancelled && state.session.streams.holdUntilEnd(.task(continuation), of: inbox)
                    }
                    if !waits { continuation.resume() }
                }
            } onCancel: {
                connection.transition { state, actions in state.session.streams.wakeFinalWaiters(of: inbox, &actions) }
            }
        }
    }

    /// Stops reading.
    func stop(_ error: any Error) {
        connection.transition { state, actions in
            state.session.streams.stopReading(inbox, error, &state.session.outbox, &actions)
        }
        connection.channel.setNeedsFlush()
    }

    /// Whether the reader has come to the end, or has given up.
    var isDone: Bool { connection.state.withLock { _ in inbox.reading == .done } }

    /// How the stream has ended, for a reader that is done.
    var end: StreamEnd? { connection.state.withLock { _ in inbox.end } }
}

extension StreamInbox {
    /// Makes the object that stands for the stream in a message's table of references.
    func makeReader(on connection: Connection) -> AnyObject { StreamHandle(self, on: connection) }
}

extension TableEntry {
    /// What an object of a table of references is to a connection; nil if it stands for no stream of a peer.
    init?(reader object: AnyObject, on connection: Connection) {
        guard let handle = object as? StreamHandle else { return nil }
        self = handle.connection === connection ? .stream(handle.inbox) : .foreign
    }
}
