// Streams of this side, which the peer reads.
extension Streams {
    // MARK: The table of references

    /// The entry for an object of this side that stands for a stream; nil if the object stands for none.
    ///
    /// - Parameters:
    ///   - isOpen: Whether streams may be sent.
    ///   - limit: The most streams that may be open.
    mutating func reference(to object: AnyObject, isOpen: Bool, limit: Int) -> Reference? {
        guard let source = object as? StreamSource else { return (object as? DeadStreamObject)?.reason.reference }
        guard isOpen else { return DeadStream.closing.reference }
        guard source.claim() else { return DeadStream.used.reference }
        guard let stream = open(source, limit: limit) else {
            source.giveBack()
            return DeadStream.overloaded.reference
        }
        return .stream(UInt64(stream.number))
    }

    /// Enters a stream of this side that comes back unread.
    mutating func takeBack(_ number: UInt32, _ outbox: inout Outbox) throws(ProtocolViolation) -> StreamSource {
        let stream = try self.outbox(number)
        let error = ConnectionError(.cancelled, "")
        switch stream.life.takeBack(error) {
        case .refuse:
            throw ProtocolViolation(.outOfStep, "a stream was passed back after its reader had given it credit")
        case .end: writeEnd(stream, error, &outbox)
        case .free: break
        }
        remove(stream)
        stream.source.giveBack()
        return stream.source
    }

    // MARK: Frames of the reader

    /// Enters credit, with which a stream begins or goes on.
    mutating func receiveCredit(
        of number: UInt32, _ items: UInt64, _ bytes: UInt64, _ work: inout [some StreamWork]
    ) throws(ProtocolViolation) {
        let stream = try outbox(number)
        try stream.give(items: items, bytes: bytes)
        switch stream.life.receiveCredit(isEnough: stream.allowance > 0) {
        case .none: break
        case .start: work.append(.stream(.start(stream)))
        case .wake: wakeSenders(of: stream, &work)
        }
    }

    /// Enters the reader's End.
    mutating func receiveReadersEnd(
        _ number: UInt32, _ outbox: inout Outbox, _ work: inout [some StreamWork]
    ) throws(ProtocolViolation) {
        let stream = try self.outbox(number)
        switch stream.life.receiveReadersEnd(ConnectionError(.cancelled, "the reader of the stream has stopped")) {
        case .none: break
        case .endUnread:
            writeEnd(stream, ConnectionError(.cancelled, ""), &outbox)
            remove(stream)
            work.append(.stream(.dispose(stream.source)))
        case .cancel:
            wakeSenders(of: stream, &work)
            work.append(.stream(.cancel(stream)))
        case .free:
            remove(stream)
        }
    }

    // MARK: Producing

    /// Has a sender wait until there is credit and room, or the stream has ended.
    ///
    /// - Returns: False if the sender need not wait.
    func hold(_ waiter: VoidWaiter, for stream: StreamOutbox) -> Bool {
        guard stream.stop == nil, stream.allowance == 0 || stream.life.awaitsRoom else { return false }
        stream.waiters.append(waiter)
        return true
    }

    /// Resumes all senders of a stream, which check again what they wait for.
    func wakeSenders(of stream: StreamOutbox, _ work: inout [some StreamWork]) {
        for waiter in stream.waiters { work.append(.stream(.resume(waiter))) }
        stream.waiters = []
    }

    /// Notifies the streams that waited for room in the channel.
    mutating func resumeAwaitingRoom(_ work: inout [some StreamWork]) {
        for stream in takeAwaitingRoom() {
            work.append(.stream(.flush(stream)))
            wakeSenders(of: stream, &work)
        }
    }

    /// Notes that this side's End of a stream is written, after the stream's task has ended.
    ///
    /// Senders that wait for room in the stream, or send later, get an error: no item may follow the End.
    func ended(_ stream: StreamOutbox, _ work: inout [some StreamWork]) {
        let error = ConnectionError(.cancelled, "the stream has ended, because its closure has returned")
        guard stream.life.endTask(error) != .refuse else { return }
        stream.producer = nil
        wakeSenders(of: stream, &work)
    }

    /// Writes the End of a stream whose task has ended with an error of the library.
    mutating func end(
        _ stream: StreamOutbox, _ error: ConnectionError, _ outbox: inout Outbox, _ work: inout [some StreamWork]
    ) {
        let action = stream.life.endTask(error)
        guard action != .refuse else { return }
        stream.producer = nil
        writeEnd(stream, error, &outbox)
        wakeSenders(of: stream, &work)
        if action == .endAndFree { remove(stream) }
    }

    private func writeEnd(_ stream: StreamOutbox, _ error: ConnectionError, _ outbox: inout Outbox) {
        outbox.write(EndFrame.failed(UInt32(stream.number), error))
    }

    // MARK: The end of the connection

    /// Ends all streams in both directions, because this side closes the connection in order.
    mutating func close(_ outbox: inout Outbox, _ work: inout [some StreamWork]) {
        guard !isEmpty else { return }
        let error = ConnectionError(.closed, "the connection is closing; the stream has not come to its end")
        let (outgoing, incoming) = all
        for stream in outgoing {
            let action = stream.life.close(error)
            guard action != .none else { continue }
            if action != .endUnread { work.append(.stream(.cancel(stream))) }
            writeEnd(stream, error, &outbox)
            wakeSenders(of: stream, &work)
            if action == .endUnread { work.append(.stream(.dispose(stream.source))) }
            if action == .endAndFree { remove(stream) }
        }
        for inbox in incoming { stopReading(inbox, Self.closing, &outbox, &work) }
    }

    /// Ends all streams, because no more input comes from the peer.
    ///
    /// - Parameters:
    ///   - name: The connection's name, for errors.
    ///   - partial: The streams of frames whose fragments are missing. Their producer's End may have come.
    mutating func end(
        _ end: ConnectionEnd, _ name: String, partial: [StreamInbox], _ work: inout [some StreamWork]
    ) {
        let context = "a stream over \(name)"
        let lost = ConnectionError(
            .outcomeUnknown, "\(end) before the stream ended; more items may have been sent", context: context,
            mayHaveRun: true)
        for inbox in partial { cut(inbox, lost, &work) }
        guard !isEmpty else { return }
        let (outgoing, incoming) = removeAll()
        for stream in outgoing {
            let error = ConnectionError(
                .closed, "\(end) before the stream ended; the reader may not have read what was sent", context: context)
            switch stream.life.lose(error) {
            case .none: break
            case .dispose: work.append(.stream(.dispose(stream.source)))
            case .cancel: work.append(.stream(.cancel(stream)))
            }
            wakeSenders(of: stream, &work)
        }
        for inbox in incoming {
            inbox.link = .over
            cut(inbox, lost, &work)
        }
    }
}
