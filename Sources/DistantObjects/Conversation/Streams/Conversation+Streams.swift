import KeyedArchive
import PortTransport

/// The outcome of an attempt to write items of a stream.
enum ItemsOutcome {
    /// The items are written. The value is the number of items that may follow now.
    case written(Int)
    /// The channel is full. The conversation notifies the producer when the channel has room.
    case noRoom
    /// The items are not sent, for this reason: the producer has to stop.
    case stopped(ConnectionError)
}

// Frames of streams that carry values. Their tables belong to the conversation, so these frames are read and written
// here. All else is in `Streams`.
extension Conversation {
    /// Whether both sides know streams.
    var knowsStreams: Bool { handshake.grants.features.contains(.streams) }

    /// Checks that the peer may send a frame or an entry of a table about a stream.
    func checkStreamsAgreed(_ what: String) throws(ProtocolViolation) {
        guard knowsStreams else { throw ProtocolViolation(.unknownName, "\(what) a stream without an agreement") }
    }

    // MARK: The table of references

    /// Enters a stream that a table of references names.
    mutating func enterStream(_ number: UInt64, _ host: Host) throws(ProtocolViolation) -> AnyObject {
        try checkStreamsAgreed("a message names")
        if let dead = DeadStream(rawValue: number) { return DeadStreamObject.of(dead) }
        let inbox = try streams.enter(number) { host.mayBeWritten($0) }
        if !isOpen { streams.stopReading(inbox, Streams.closing, &outbox) }
        return host.makeStreamReader(inbox)
    }

    // MARK: Frames of the producer

    mutating func receiveItem(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        try checkStreamsAgreed("an Item of")
        let header = try ItemFrame(reading: &reader)
        let inbox = try streams.inbox(header.stream)
        let size = frame.bytes.count + Int(clamping: frame.messageLength ?? 0)
        try inbox.receive(items: header.count, bytes: size)
        let tables = try readTables(&reader, host, &actions)
        let body = try readBody(of: inbox, &reader, frame, tables, &actions)
        streams.receive(
            StreamItems(count: Int(header.count), bytes: size, tables: tables, body: body), of: inbox, &actions)
    }

    mutating func receiveEnd(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        try checkStreamsAgreed("an End of")
        let isOpener = frame.messageLength != nil
        switch try EndFrame(reading: &reader, flags: frame.ownFlags, isOpener: isOpener) {
        case .reader(let number): try streams.receiveReadersEnd(number, &outbox, &actions)
        case .failed(let number, let error):
            let inbox = try streams.inbox(number)
            streams.receiveEnd(.failed(error), of: inbox, &outbox, &actions)
        case .producer(let number, let status):
            let inbox = try streams.inbox(number)
            let tables = try readTables(&reader, host, &actions)
            let body = try readBody(of: inbox, &reader, frame, tables, &actions)
            streams.receiveEnd(.message(status, body, tables), of: inbox, &outbox, &actions)
        }
    }

    private mutating func readBody(
        of inbox: StreamInbox, _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ tables: MessageTables?,
        _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> InboundBody {
        try checkBody(of: frame, reader, tables, &actions)
        guard frame.messageLength == nil else {
            let partial = PartialMessage(purpose: .stream(inbox), of: frame)
            begin(partial, frame)
            return .arriving(partial)
        }
        // The bytes are copied, so that items that wait do not keep whole read buffers.
        var batch = ByteBatch()
        return .whole(batch.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[reader.offset...])))
    }

    // MARK: Producing

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

    /// Writes the End of a stream whose task has ended, with its final value or the error that it threw.
    mutating func endStream(
        _ stream: StreamOutbox, _ status: ReturnStatus, with message: OutboundMessage, _ host: Host,
        _ actions: inout [Action<Host>]
    ) {
        guard stream.phase == .running else { return }
        guard !stream.readerHasEnded else {
            return streams.end(stream, .init(.cancelled, ""), &outbox, &actions)
        }
        let frame = EndFrame.producer(UInt32(stream.number), status)
        frame.append(to: &outbox)
        writeTables(of: message.encoder, host)
        streams.ended(stream, &actions)
        outbox.finish(.end, flags: frame.flags, with: message.encoder)
    }
}
