@_spi(Queues) import PortTransport

// Streams of the peer, which this side reads.
extension Streams {
    /// The error of a stream that is not read because this side closes the connection.
    static var closing: ConnectionError {
        ConnectionError(.closed, "the connection is closing; the stream was not read to its end", mayHaveRun: true)
    }

    // MARK: The table of references

    /// Enters a stream that a table of references names.
    ///
    /// - Parameter mayBeWritten: Whether the peer may have read a frame of this side.
    mutating func enter(
        _ number: UInt64, mayBeWritten: (UInt64) -> Bool
    ) throws(ProtocolViolation) -> StreamInbox {
        guard number < ProtocolLimits.openStreams else {
            throw ProtocolViolation(.overLimit, "more than \(ProtocolLimits.openStreams) streams are open")
        }
        let inbox = StreamInbox(number: UInt32(number))
        try enter(inbox, mayBeWritten: mayBeWritten)
        return inbox
    }

    /// Passes a stream of the peer back to it, which counts as the reader's End.
    ///
    /// - Parameters:
    ///   - frame: The number of the frame that passes the stream back.
    ///   - isOpen: Whether streams may be sent.
    func passBack(_ inbox: StreamInbox, in frame: UInt64, isOpen: Bool) -> Reference {
        guard inbox.reading == .unread, inbox.link == .open, isOpen else { return DeadStream.used.reference }
        inbox.reading = .done
        inbox.end = .failed(DeadStream.used.error)
        inbox.link = .closing
        inbox.endFrame = frame
        inbox.markOver()
        return .returnedStream(inbox.number)
    }

    // MARK: Frames of the producer

    /// Enters a frame of items, whose body may still be arriving.
    func receive(_ items: StreamItems, of inbox: StreamInbox, _ work: inout [some StreamWork]) {
        guard inbox.reading != .done else { return drop([items], &work) }
        inbox.frames.append(items)
        wakeReader(of: inbox, &work)
    }

    /// Enters the producer's End of a stream.
    mutating func receiveEnd(
        _ end: StreamEnd, of inbox: StreamInbox, _ outbox: inout Outbox, _ work: inout [some StreamWork]
    ) {
        if inbox.link == .open { writeReadersEnd(inbox, &outbox) }
        inbox.link = .over
        remove(inbox)
        guard inbox.reading != .done else { return drop(end, &work) }
        inbox.end = end
        wakeReader(of: inbox, &work)
    }

    /// Enters the fragments of a frame of a stream.
    func fragmentsArrived(of partial: PartialMessage, for inbox: StreamInbox, _ work: inout [some StreamWork]) {
        guard inbox.reading != .done else { return drop(.arriving(partial), nil, &work) }
        wakeReader(of: inbox, &work)
    }

    private func wakeReader(of inbox: StreamInbox, _ work: inout [some StreamWork]) {
        guard inbox.waiter != nil, inbox.hasNext, let waiter = inbox.waiter.take() else { return }
        work.append(.stream(.resume(waiter)))
    }

    private func writeReadersEnd(_ inbox: StreamInbox, _ outbox: inout Outbox) {
        outbox.write(EndFrame.reader(inbox.number))
        inbox.endFrame = outbox.written
    }

    // MARK: Reading

    /// Begins to read a stream.
    ///
    /// - Returns: False if the stream was read, passed back or given up before.
    func begin(_ inbox: StreamInbox, _ readAhead: ReadAhead, _ outbox: inout Outbox) -> Bool {
        guard inbox.reading == .unread else { return false }
        inbox.reading = .reading
        guard inbox.link == .open else { return true }
        let credit = inbox.begin(readAhead)
        writeCredit(of: inbox, credit.first, ReadAhead.bytes, &outbox)
        if credit.more > 0 { writeCredit(of: inbox, credit.more, 0, &outbox) }
        return true
    }

    private func writeCredit(of inbox: StreamInbox, _ items: Int, _ bytes: Int, _ outbox: inout Outbox) {
        outbox.write(CreditFrame.stream(inbox.number, items: UInt64(items), bytes: UInt64(bytes)))
    }

    /// Takes the next frame of a stream.
    ///
    /// - Parameters:
    ///   - finished: The last frame, if all its items are consumed.
    ///   - now: The time in nanoseconds.
    func next(
        of inbox: StreamInbox, after finished: StreamItems?, at now: UInt64, _ outbox: inout Outbox,
        _ work: inout [some StreamWork]
    ) -> StreamInbox.Next {
        if let finished, let due = inbox.consumed(finished, at: now), inbox.link == .open {
            writeCredit(of: inbox, due.items, due.bytes, &outbox)
        }
        guard inbox.hasNext else { return .nothing }
        if let items = inbox.takeFrame(at: now) { return .items(items) }
        guard let end = inbox.end else { return .nothing }
        if inbox.reading != .done { finishReading(inbox, &work) }
        return .end(end)
    }

    /// Has the reader wait for the next frame or the end.
    ///
    /// - Returns: False if the reader need not wait.
    func hold(_ waiter: VoidWaiter, for inbox: StreamInbox) -> Bool {
        guard !inbox.hasNext, inbox.waiter == nil else { return false }
        inbox.waiter = waiter
        return true
    }

    /// Has a task or thread wait until the reader has come to the end.
    ///
    /// - Returns: False if the reader has come to the end already.
    func holdUntilEnd(_ waiter: VoidWaiter, of inbox: StreamInbox) -> Bool {
        guard inbox.reading != .done else { return false }
        inbox.finalWaiters.append(waiter)
        return true
    }

    /// Resumes all waiters for the end of a stream, which check again whether they still have to wait.
    func wakeFinalWaiters(of inbox: StreamInbox, _ work: inout [some StreamWork]) {
        for waiter in inbox.finalWaiters { work.append(.stream(.resume(waiter))) }
        inbox.finalWaiters = []
    }

    private func finishReading(_ inbox: StreamInbox, _ work: inout [some StreamWork]) {
        inbox.reading = .done
        if inbox.link == .over { inbox.markOver() }
        wakeFinalWaiters(of: inbox, &work)
    }

    /// Stops reading a stream, and notifies its producer.
    func stopReading(
        _ inbox: StreamInbox, _ error: any Error, _ outbox: inout Outbox, _ work: inout [some StreamWork]
    ) {
        guard inbox.reading != .done else { return }
        drop(inbox.frames.removeAll(), &work)
        if let end = inbox.end { drop(end, &work) }
        stopReading(inbox, error, &outbox)
        if let waiter = inbox.waiter.take() { work.append(.stream(.resume(waiter))) }
        wakeFinalWaiters(of: inbox, &work)
    }

    /// Stops reading a stream of which nothing has arrived.
    func stopReading(_ inbox: StreamInbox, _ error: any Error, _ outbox: inout Outbox) {
        inbox.end = .failed(error)
        inbox.reading = .done
        inbox.markOver()
        guard inbox.link == .open else { return }
        inbox.link = .closing
        writeReadersEnd(inbox, &outbox)
    }

    /// Drops the frames of a stream that have not arrived completely when the connection ends.
    func cut(_ inbox: StreamInbox, _ error: any Error, _ work: inout [some StreamWork]) {
        guard inbox.reading != .done else { return }
        drop(inbox.cut(error), &work)
        if let waiter = inbox.waiter.take() { work.append(.stream(.resume(waiter))) }
        if inbox.reading == .unread { inbox.markOver() }
    }

    // MARK: Dropping

    /// Drops frames that nothing reads: their references are released, and their bytes count as consumed.
    private func drop(_ frames: [StreamItems], _ work: inout [some StreamWork]) {
        for frame in frames { drop(frame.body, frame.tables, &work) }
    }

    private func drop(_ end: StreamEnd, _ work: inout [some StreamWork]) {
        if case .message(_, let body, let tables) = end { drop(body, tables, &work) }
    }

    private func drop(_ body: InboundBody, _ tables: MessageTables?, _ work: inout [some StreamWork]) {
        let largeBytes = body.takeLargeBytes()
        guard largeBytes > 0 || tables != nil else { return }
        work.append(.discard(Reply(status: .result, body: .empty, largeBytes: largeBytes, tables: tables)))
    }
}
