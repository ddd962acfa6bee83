/// The streams of a conversation in both directions: which are open, and what becomes of them.
///
/// See “Streams” in WireFeatures.md. Transitions write frames into the outbox, and append the work that they leave to
/// their caller to `work`.
struct Streams {
    private final class Table: @unchecked Sendable {  // Guarded by the connection's lock.
        /// Streams of this side by number; as long as the most streams that were ever open at a time.
        var outgoing: [StreamOutbox?] = []
        /// Streams of the peer by number.
        var incoming = SmallDictionary<UInt32, StreamInbox>()
        /// The number of this side's last frame about a stream of the peer that is over, by stream.
        ///
        /// A peer that uses the number again without having read that frame is not honest: it could make this side queue
        /// any number of frames.
        var lastEnds: [UInt32: UInt64] = [:]
        /// Streams of this side that wait for room in the channel.
        var awaitingRoom: [StreamOutbox] = []
        var outgoingCount = 0
    }

    /// Nil before the first stream.
    private var table: Table?

    var outgoingCount: Int { table?.outgoingCount ?? 0 }
    var incomingCount: Int { table?.incoming.count ?? 0 }
    var isAwaitingRoom: Bool { !(table?.awaitingRoom.isEmpty ?? true) }
    /// Whether no stream is open.
    var isEmpty: Bool { outgoingCount == 0 && incomingCount == 0 }

    private mutating func made() -> Table {
        if let table { return table }
        let made = Table()
        table = made
        return made
    }

    // MARK: This side's

    /// Opens a stream of this side under the lowest free number.
    ///
    /// - Returns: nil if too many streams are open.
    mutating func open(_ source: StreamSource, limit: Int) -> StreamOutbox? {
        let table = made()
        guard table.outgoingCount < limit else { return nil }
        let hasGap = table.outgoingCount < table.outgoing.count
        let index = hasGap ? table.outgoing.firstIndex { $0 == nil } : nil
        let stream = StreamOutbox(number: index ?? table.outgoing.count, source: source)
        if let index { table.outgoing[index] = stream } else { table.outgoing.append(stream) }
        table.outgoingCount += 1
        return stream
    }

    /// The stream of this side that the peer names.
    func outbox(_ number: UInt32) throws(ProtocolViolation) -> StreamOutbox {
        guard let table, Int(number) < table.outgoing.count else {
            throw ProtocolViolation(.unknownName, "a stream was named that was never given")
        }
        guard let stream = table.outgoing[Int(number)], !stream.life.readerHasEnded else {
            throw ProtocolViolation(.outOfStep, "a stream was named by its reader after the reader's End")
        }
        return stream
    }

    mutating func remove(_ stream: StreamOutbox) {
        guard let table, stream.number < table.outgoing.count, table.outgoing[stream.number] === stream else {
            return
        }
        table.outgoing[stream.number] = nil
        table.outgoingCount -= 1
    }

    mutating func awaitRoom(_ stream: StreamOutbox) {
        if stream.life.awaitRoom() { made().awaitingRoom.append(stream) }
    }

    mutating func takeAwaitingRoom() -> [StreamOutbox] {
        guard let table else { return [] }
        let waiting = table.awaitingRoom
        table.awaitingRoom = []
        for stream in waiting { stream.life.stopAwaitingRoom() }
        return waiting
    }

    // MARK: The peer's

    mutating func enter(_ inbox: StreamInbox, mayBeWritten: (UInt64) -> Bool) throws(ProtocolViolation) {
        let table = made()
        guard table.incoming[inbox.number] == nil else {
            throw ProtocolViolation(.outOfStep, "a stream was given a number that is in use")
        }
        // From its first use on, each number is in `incoming` or in `lastEnds`.
        guard Int(inbox.number) <= table.incoming.count + table.lastEnds.count else {
            throw ProtocolViolation(.outOfStep, "a stream was given a number that is not the lowest free one")
        }
        if let last = table.lastEnds[inbox.number] {
            guard mayBeWritten(last) else {
                throw ProtocolViolation(.outOfStep, "a stream was given a number before its reader's End was read")
            }
            table.lastEnds[inbox.number] = nil
        }
        table.incoming.insert(inbox, for: inbox.number)
    }

    /// The stream of the peer that a frame of the peer names.
    func inbox(_ number: UInt32) throws(ProtocolViolation) -> StreamInbox {
        guard let inbox = table?.incoming[number] else {
            guard table?.lastEnds[number] == nil else {
                throw ProtocolViolation(.outOfStep, "a stream was named after its producer's End")
            }
            throw ProtocolViolation(.unknownName, "an Item or End names a stream that is not open")
        }
        return inbox
    }

    mutating func remove(_ inbox: StreamInbox) {
        guard let table, table.incoming.removeValue(forKey: inbox.number) != nil else { return }
        table.lastEnds[inbox.number] = inbox.endFrame
    }

    // MARK: The end

    /// Empties the table.
    mutating func removeAll() -> (outgoing: [StreamOutbox], incoming: [StreamInbox]) {
        defer { table = nil }
        return all
    }

    var all: (outgoing: [StreamOutbox], incoming: [StreamInbox]) {
        guard let table else { return ([], []) }
        return (table.outgoing.compactMap { $0 }, table.incoming.values)
    }
}
