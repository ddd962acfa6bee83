import KeyedArchive
import PortTransport

/// The outcome of an attempt to write items of a stream.
enum ItemsOutcome {
    /// They are written. The value is the number of items that may follow now.
    case written(Int)
    /// The channel is full. The state notifies the producer when it has room.
    case noRoom
    /// Nothing more is sent.
    case stopped(ConnectionError)
}

// Streams that the peer reads. See “Streams” in WireFeatures.md.
extension PortState {
    /// Whether both sides know streams.
    var knowsStreams: Bool { handshake.grants.features.contains(.streams) }

    // MARK: The reference table

    /// Writes a stream of this process into a table of references.
    ///
    /// - Returns: False if the object is no stream.
    mutating func writeStream(_ object: AnyObject) -> Bool {
        if let source = object as? StreamSource {
            writeStream(source)
        } else if let dead = object as? DeadStreamObject {
            writeDead(dead.reason)
        } else {
            return false
        }
        return true
    }

    private mutating func writeStream(_ source: StreamSource) {
        guard phase == .open else { return writeDead(.closing) }
        guard source.claim() else { return writeDead(.used) }
        guard let stream = streams.open(source, limit: limits.streams) else {
            source.giveBack()
            return writeDead(.overloaded)
        }
        Reference.stream(UInt64(stream.number)).append(to: &outbox)
    }

    /// Writes an entry that names nothing.
    mutating func writeDead(_ reason: DeadStream) {
        Reference.stream(reason.rawValue).append(to: &outbox)
    }

    /// Passes a stream of the peer back to it, which counts as the reader's End.
    mutating func writeStreamBack(_ inbox: StreamInbox) {
        guard inbox.reading == .unread, inbox.link == .open, phase == .open else { return writeDead(.used) }
        Reference.returnedStream(inbox.number).append(to: &outbox)
        inbox.reading = .done
        inbox.end = .failed(DeadStream.used.error)
        inbox.link = .closing
        inbox.endFrame = sent + 1
        inbox.markOver()
    }

    /// Enters a stream that a table of references names.
    mutating func enterStream(_ number: UInt64, _ host: Host) throws(ProtocolViolation) -> AnyObject {
        try checkStreamsAgreed()
        if let dead = DeadStream(rawValue: number) { return DeadStreamObject.of(dead) }
        guard number < ProtocolLimits.openStreams else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.openStreams) streams are open")
        }
        let inbox = StreamInbox(number: UInt32(number))
        try streams.enter(inbox) { host.mayBeWritten($0) }
        if !isOpen { stopReading(inbox, closingError) }
        return host.makeStreamReader(inbox)
    }

    private var closingError: ConnectionError {
        ConnectionError(.closed, "the connection is closing; the stream was not read to its end")
    }

    private func checkStreamsAgreed() throws(ProtocolViolation) {
        guard knowsStreams else {
            throw ProtocolViolation(.unknownName, "a message names a stream without an agreement")
        }
    }

    /// A stream of this side comes back unread.
    mutating func takeBackStream(_ number: UInt32) throws(ProtocolViolation) -> AnyObject {
        try checkStreamsAgreed()
        let stream = try streams.outbox(number)
        guard !stream.wasGivenCredit else {
            throw ProtocolViolation(.outOfStep, "a stream was passed back after its reader had given it credit")
        }
        stream.readerHasEnded = true
        if stream.phase == .offered { writeEnd(stream, .init(.cancelled, "")) }
        streams.remove(stream)
        stream.source.giveBack()
        return stream.source
    }

    // MARK: Credit and ends of the reader

    mutating func receiveCredit(
        of number: UInt32, _ items: UInt64, _ bytes: UInt64, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard knowsStreams else {
            throw ProtocolViolation(.unknownName, "a Credit for a stream without an agreement")
        }
        let stream = try streams.outbox(number)
        try stream.give(items: items, bytes: bytes)
        switch stream.phase {
        case .offered:
            guard stream.allowance > 0 else { return }
            stream.phase = .running
            actions.append(.stream(.start(stream)))
        case .running: wake(stream, &actions)
        case .ended: break
        }
    }

    private mutating func receiveReadersEnd(
        _ number: UInt32, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let stream = try streams.outbox(number)
        stream.readerHasEnded = true
        switch stream.phase {
        case .offered:
            writeEnd(stream, .init(.cancelled, ""))
            streams.remove(stream)
            actions.append(.stream(.dispose(stream.source)))
        case .running:
            // This side sends its End only when the task has ended. Otherwise a peer could have any number of tasks
            // run.
            stream.stop = ConnectionError(.cancelled, "the reader of the stream has stopped")
            wake(stream, &actions)
            actions.append(.stream(.cancel(stream)))
        case .ended:
            streams.remove(stream)
        }
    }

    private mutating func wake(_ stream: StreamOutbox, _ actions: inout [Action<Host>]) {
        for waiter in stream.waiters { actions.append(.stream(.resume(waiter))) }
        stream.waiters = []
    }

    mutating func receiveEnd(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard knowsStreams else {
            throw ProtocolViolation(.unknownName, "an End of a stream without an agreement")
        }
        let isOpener = frame.messageLength != nil
        switch try EndFrame(reading: &reader, flags: frame.ownFlags, isOpener: isOpener) {
        case .reader(let number): try receiveReadersEnd(number, &actions)
        case .failed(let number, let error):
            let inbox = try streams.inbox(number)
            end(inbox, .failed(error), &actions)
        case .producer(let number, let status):
            let inbox = try streams.inbox(number)
            let tables = try readTables(&reader, host, &actions)
            let body = try readBody(of: inbox, &reader, frame, tables, &actions)
            end(inbox, .message(status, body, tables), &actions)
        }
    }

    // MARK: Producing

    /// The number of items that a stream may send now; 0 if it has to wait.
    ///
    /// - Throws: Why the stream has to stop, if it has to.
    mutating func allowance(of stream: StreamOutbox) throws(ConnectionError) -> Int {
        if let stop = stream.stop { throw stop }
        return stream.allowance
    }

    /// Writes items, which are within the stream's allowance.
    mutating func writeItems(
        _ count: Int, in message: OutboundMessage, of stream: StreamOutbox, _ host: Host, evenIfFull: Bool = false
    ) -> ItemsOutcome {
        if let stop = stream.stop { return .stopped(stop) }
        guard evenIfFull || !isFull(for: message, host) else {
            streams.awaitRoom(stream)
            return .noRoom
        }
        ItemFrame(count, of: UInt32(stream.number)).append(to: &outbox)
        writeTables(of: message.encoder, host)
        stream.use(items: count, bytes: outbox.count + message.encoder.byteCount)
        outbox.finish(.item, flags: 0, with: message.encoder)
        return .written(stream.allowance)
    }

    private mutating func isFull(for message: OutboundMessage, _ host: Host) -> Bool {
        host.isQueueFull || message.isLarge && !host.hasRoom(forLargeMessage: message.encoder.byteCount)
    }

    /// Has a sender wait until there is credit and room, or the stream has ended.
    ///
    /// - Returns: False if it need not wait.
    mutating func hold(_ waiter: StreamWaiter, for stream: StreamOutbox) -> Bool {
        guard stream.stop == nil, stream.allowance == 0 || stream.awaitsRoom else { return false }
        stream.waiters.append(waiter)
        return true
    }

    /// Resumes all senders of a stream, which check again what they wait for.
    mutating func wakeSenders(of stream: StreamOutbox, _ actions: inout [Action<Host>]) { wake(stream, &actions) }

    /// Notifies the streams that waited for room in the channel.
    mutating func resumeStreams(_ host: Host, _ actions: inout [Action<Host>]) {
        guard streams.isAwaitingRoom, !host.isQueueFull else { return }
        for stream in streams.takeAwaitingRoom() {
            actions.append(.stream(.flush(stream)))
            wake(stream, &actions)
        }
    }

    /// Writes the End of a stream whose task has ended, with its final value or the error that it threw.
    ///
    /// Senders that wait for room in the stream, or send later, get an error: no item may follow the End.
    mutating func endStream(
        _ stream: StreamOutbox, _ status: ReturnStatus, with message: OutboundMessage, _ host: Host,
        _ actions: inout [Action<Host>]
    ) {
        guard stream.phase == .running else { return }
        guard !stream.readerHasEnded else { return endStream(stream, .init(.cancelled, ""), &actions) }
        let frame = EndFrame.producer(UInt32(stream.number), status)
        frame.append(to: &outbox)
        writeTables(of: message.encoder, host)
        stream.phase = .ended
        stream.stop = ConnectionError(.cancelled, "the stream has ended, because its closure has returned")
        stream.producer = nil
        outbox.finish(.end, flags: frame.flags, with: message.encoder)
        wake(stream, &actions)
    }

    /// Writes the End of a stream whose task has ended with an error of the library.
    mutating func endStream(_ stream: StreamOutbox, _ error: ConnectionError, _ actions: inout [Action<Host>]) {
        guard stream.phase == .running else { return }
        writeEnd(stream, error)
        wake(stream, &actions)
        if stream.readerHasEnded { streams.remove(stream) }
    }

    private mutating func writeEnd(_ stream: StreamOutbox, _ error: ConnectionError) {
        stream.phase = .ended
        stream.stop = error
        stream.producer = nil
        outbox.write(EndFrame.failed(UInt32(stream.number), error))
    }

    // MARK: The end of the connection

    /// Ends all streams in both directions, because this side closes the connection in order.
    mutating func closeStreams(_ actions: inout [Action<Host>]) {
        guard !streams.isEmpty else { return }
        let error = ConnectionError(.closed, "the connection is closing; the stream has not come to its end")
        let (outgoing, incoming) = streams.all
        for stream in outgoing where stream.phase != .ended {
            let isRunning = stream.phase == .running
            if isRunning { actions.append(.stream(.cancel(stream))) }
            writeEnd(stream, error)
            wake(stream, &actions)
            if !isRunning { actions.append(.stream(.dispose(stream.source))) }
            if stream.readerHasEnded { streams.remove(stream) }
        }
        for inbox in incoming { stopReading(inbox, closingError, &actions) }
    }

    /// Ends all streams, because no more input comes from the peer.
    mutating func endStreams(_ end: ConnectionEnd, _ actions: inout [Action<Host>]) {
        let lost = ConnectionError(
            .outcomeUnknown, "\(end) before the stream ended; more items may have been sent", mayHaveRun: true)
        // The producer's End may have come while the fragments of an item are missing.
        for partial in partials.values {
            guard case .stream(let stream) = partial.purpose, let inbox = stream as? StreamInbox else { continue }
            cut(inbox, lost, &actions)
        }
        guard !streams.isEmpty else { return }
        let (outgoing, incoming) = streams.removeAll()
        for stream in outgoing {
            if stream.stop == nil {
                stream.stop = ConnectionError(
                    .closed, "\(end) before the stream ended; the reader may not have read what was sent")
            }
            if stream.phase == .running { actions.append(.stream(.cancel(stream))) }
            if stream.phase == .offered { actions.append(.stream(.dispose(stream.source))) }
            stream.phase = .ended
            stream.producer = nil
            wake(stream, &actions)
        }
        for inbox in incoming {
            inbox.link = .over
            cut(inbox, lost, &actions)
        }
    }
}
