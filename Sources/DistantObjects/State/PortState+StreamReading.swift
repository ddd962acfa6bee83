import KeyedArchive
@_spi(Queues) import PortTransport

// Streams of the peer that this side reads.
extension PortState {
    // MARK: Frames of the producer

    mutating func receiveItem(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard knowsStreams else {
            throw ProtocolViolation(.unknownName, "an Item of a stream without an agreement")
        }
        let header = try ItemFrame(reading: &reader)
        let inbox = try streams.inbox(header.stream)
        let size = frame.bytes.count + Int(clamping: frame.messageLength ?? 0)
        try inbox.receive(items: header.count, bytes: size)
        let tables = try readTables(&reader, host, &actions)
        let body = try readBody(of: inbox, &reader, frame, tables, &actions)
        let items = StreamItems(count: Int(header.count), bytes: size, tables: tables, body: body)
        guard inbox.reading != .done else { return drop([items], &actions) }
        inbox.frames.append(items)
        wakeReader(of: inbox, &actions)
    }

    mutating func readBody(
        of inbox: StreamInbox, _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ tables: MessageTables?,
        _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> InboundBody {
        try checkBody(of: frame, reader, tables, &actions)
        guard frame.messageLength == nil else {
            let partial = PartialMessage(purpose: .stream(inbox), of: frame)
            begin(partial, frame)
            return .arriving(partial)
        }
        // Copied, so that items that wait do not keep whole read buffers.
        var batch = ByteBatch()
        return .whole(batch.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[reader.offset...])))
    }

    /// Enters the producer's End of a stream.
    mutating func end(_ inbox: StreamInbox, _ end: StreamEnd, _ actions: inout [Action<Host>]) {
        if inbox.link == .open { writeReadersEnd(inbox) }
        inbox.link = .over
        streams.remove(inbox)
        guard inbox.reading != .done else { return drop(end, &actions) }
        inbox.end = end
        wakeReader(of: inbox, &actions)
    }

    /// Enters the fragments of a frame of a stream.
    mutating func fragmentsArrived(
        of partial: PartialMessage, for stream: any FragmentedStream, _ actions: inout [Action<Host>]
    ) {
        guard let inbox = stream as? StreamInbox else { return }
        guard inbox.reading != .done else { return giveBack(partial.takeLargeBytes(), &actions) }
        wakeReader(of: inbox, &actions)
    }

    private mutating func wakeReader(of inbox: StreamInbox, _ actions: inout [Action<Host>]) {
        guard inbox.waiter != nil, inbox.hasNext, let waiter = inbox.waiter.take() else { return }
        actions.append(.stream(.resume(waiter)))
    }

    private mutating func writeReadersEnd(_ inbox: StreamInbox) {
        outbox.write(EndFrame.reader(inbox.number))
        inbox.endFrame = sent
    }

    // MARK: Reading

    /// Begins to read a stream.
    ///
    /// - Returns: False if it was read, passed on or given up before.
    mutating func beginReading(_ inbox: StreamInbox) -> Bool {
        guard inbox.reading == .unread else { return false }
        inbox.reading = .reading
        guard inbox.link == .open else { return true }
        inbox.begin()
        writeStreamCredit(inbox, StreamInbox.window.items, StreamInbox.window.bytes)
        return true
    }

    private mutating func writeStreamCredit(_ inbox: StreamInbox, _ items: Int, _ bytes: Int) {
        outbox.write(CreditFrame.stream(inbox.number, items: UInt64(items), bytes: UInt64(bytes)))
    }

    /// Takes the next frame of a stream.
    ///
    /// - Parameter finished: The last frame, if all its items are consumed.
    mutating func nextItems(
        of inbox: StreamInbox, after finished: StreamItems?, _ actions: inout [Action<Host>]
    ) -> StreamInbox.Next {
        if let finished, let due = inbox.consumed(finished), inbox.link == .open {
            writeStreamCredit(inbox, due.items, due.bytes)
        }
        guard inbox.hasNext else { return .nothing }
        if let items = inbox.frames.popFirst() { return .items(items) }
        guard let end = inbox.end else { return .nothing }
        if inbox.reading != .done { finishReading(inbox, &actions) }
        return .end(end)
    }

    /// Has the reader wait for the next frame or the end.
    ///
    /// - Returns: False if it need not wait.
    mutating func hold(_ waiter: StreamWaiter, for inbox: StreamInbox) -> Bool {
        guard !inbox.hasNext, inbox.waiter == nil else { return false }
        inbox.waiter = waiter
        return true
    }

    /// Has a task or thread wait until the reader has come to the end.
    ///
    /// - Returns: False if it has.
    mutating func holdUntilEnd(_ waiter: StreamWaiter, of inbox: StreamInbox) -> Bool {
        guard inbox.reading != .done else { return false }
        inbox.finalWaiters.append(waiter)
        return true
    }

    /// Resumes all that wait for the end of a stream, and check again whether they still have to wait.
    mutating func wakeFinalWaiters(of inbox: StreamInbox, _ actions: inout [Action<Host>]) {
        for waiter in inbox.finalWaiters { actions.append(.stream(.resume(waiter))) }
        inbox.finalWaiters = []
    }

    private mutating func finishReading(_ inbox: StreamInbox, _ actions: inout [Action<Host>]) {
        inbox.reading = .done
        if inbox.link == .over { inbox.markOver() }
        wakeFinalWaiters(of: inbox, &actions)
    }

    /// Stops reading a stream, and notifies its producer.
    mutating func stopReading(_ inbox: StreamInbox, _ error: any Error, _ actions: inout [Action<Host>]) {
        guard inbox.reading != .done else { return }
        drop(inbox.frames.removeAll(), &actions)
        if let end = inbox.end { drop(end, &actions) }
        stopReading(inbox, error)
        if let waiter = inbox.waiter.take() { actions.append(.stream(.resume(waiter))) }
        wakeFinalWaiters(of: inbox, &actions)
    }

    /// Stops reading a stream of which nothing has arrived.
    mutating func stopReading(_ inbox: StreamInbox, _ error: any Error) {
        inbox.end = .failed(error)
        inbox.reading = .done
        inbox.markOver()
        guard inbox.link == .open else { return }
        inbox.link = .closing
        writeReadersEnd(inbox)
    }

    /// Drops what has not arrived completely when the connection ends.
    mutating func cut(_ inbox: StreamInbox, _ error: any Error, _ actions: inout [Action<Host>]) {
        guard inbox.reading != .done else { return }
        drop(inbox.cut(error), &actions)
        if let waiter = inbox.waiter.take() { actions.append(.stream(.resume(waiter))) }
        if inbox.reading == .unread { inbox.markOver() }
    }

    // MARK: Dropping

    /// Drops frames that nothing reads: their references are released, and their bytes count as consumed.
    private mutating func drop(_ frames: [StreamItems], _ actions: inout [Action<Host>]) {
        for frame in frames { drop(frame.body, frame.tables, &actions) }
    }

    private mutating func drop(_ end: StreamEnd, _ actions: inout [Action<Host>]) {
        if case .message(_, let body, let tables) = end { drop(body, tables, &actions) }
    }

    private mutating func drop(_ body: InboundBody, _ tables: MessageTables?, _ actions: inout [Action<Host>]) {
        let largeBytes = body.takeLargeBytes()
        guard largeBytes > 0 || tables != nil else { return }
        actions.append(.discard(Reply(status: .result, body: .empty, largeBytes: largeBytes, tables: tables)))
    }
}
