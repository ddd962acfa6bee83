/// The open streams of a connection in both directions.
struct StreamTable {
    private final class Streams: @unchecked Sendable {  // Guarded by the connection's lock.
        /// Streams of this side by number; as long as the most that were ever open.
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
    private var streams: Streams?

    var outgoingCount: Int { streams?.outgoingCount ?? 0 }
    var incomingCount: Int { streams?.incoming.count ?? 0 }
    var isAwaitingRoom: Bool { !(streams?.awaitingRoom.isEmpty ?? true) }
    /// Whether no stream is open.
    var isEmpty: Bool { outgoingCount == 0 && incomingCount == 0 }

    private mutating func made() -> Streams {
        if let streams { return streams }
        let made = Streams()
        streams = made
        return made
    }

    // MARK: This side's

    /// Opens a stream of this side under the lowest free number.
    ///
    /// - Returns: nil if there are too many.
    mutating func open(_ source: StreamSource, limit: Int) -> StreamOutbox? {
        let streams = made()
        guard streams.outgoingCount < limit else { return nil }
        let hasGap = streams.outgoingCount < streams.outgoing.count
        let index = hasGap ? streams.outgoing.firstIndex { $0 == nil } : nil
        let stream = StreamOutbox(number: index ?? streams.outgoing.count, source: source)
        if let index { streams.outgoing[index] = stream } else { streams.outgoing.append(stream) }
        streams.outgoingCount += 1
        return stream
    }

    /// The stream of this side that the peer names.
    func outbox(_ number: UInt32) throws(ProtocolViolation) -> StreamOutbox {
        guard let streams, Int(number) < streams.outgoing.count else {
            throw ProtocolViolation(.unknownName, "a stream was named that was never given")
        }
        guard let stream = streams.outgoing[Int(number)], !stream.readerHasEnded else {
            throw ProtocolViolation(.outOfStep, "a stream was named by its reader after the reader's End")
        }
        return stream
    }

    mutating func remove(_ stream: StreamOutbox) {
        guard let streams, stream.number < streams.outgoing.count, streams.outgoing[stream.number] === stream else {
            return
        }
        streams.outgoing[stream.number] = nil
        streams.outgoingCount -= 1
    }

    mutating func awaitRoom(_ stream: StreamOutbox) {
        guard !stream.awaitsRoom else { return }
        stream.awaitsRoom = true
        made().awaitingRoom.append(stream)
    }

    mutating func takeAwaitingRoom() -> [StreamOutbox] {
        guard let streams else { return [] }
        let waiting = streams.awaitingRoom
        streams.awaitingRoom = []
        for stream in waiting { stream.awaitsRoom = false }
        return waiting
    }

    // MARK: The peer's

    mutating func enter(_ inbox: StreamInbox, mayBeWritten: (UInt64) -> Bool) throws(ProtocolViolation) {
        let streams = made()
        guard streams.incoming[inbox.number] == nil else {
            throw ProtocolViolation(.outOfStep, "a stream was given a number that is in use")
        }
        // Each number is in one of the two, from its first use on.
        guard Int(inbox.number) <= streams.incoming.count + streams.lastEnds.count else {
            throw ProtocolViolation(.outOfStep, "a stream was given a number that is not the lowest free one")
        }
        if let last = streams.lastEnds[inbox.number] {
            guard mayBeWritten(last) else {
                throw ProtocolViolation(.outOfStep, "a stream was given a number before its reader's End was read")
            }
            streams.lastEnds[inbox.number] = nil
        }
        streams.incoming.insert(inbox, for: inbox.number)
    }

    /// The stream of the peer that it names.
    func inbox(_ number: UInt32) throws(ProtocolViolation) -> StreamInbox {
        guard let inbox = streams?.incoming[number] else {
            guard streams?.lastEnds[number] == nil else {
                throw ProtocolViolation(.outOfStep, "a stream was named after its producer's End")
            }
            throw ProtocolViolation(.unknownName, "an Item or End names a stream that is not open")
        }
        return inbox
    }

    mutating func remove(_ inbox: StreamInbox) {
        guard let streams, streams.incoming.removeValue(forKey: inbox.number) != nil else { return }
        streams.lastEnds[inbox.number] = inbox.endFrame
    }

    // MARK: The end

    /// Empties the table.
    mutating func removeAll() -> (outgoing: [StreamOutbox], incoming: [StreamInbox]) {
        defer { streams = nil }
        return all
    }

    var all: (outgoing: [StreamOutbox], incoming: [StreamInbox]) {
        guard let streams else { return ([], []) }
        return (streams.outgoing.compactMap { $0 }, streams.incoming.values)
    }
}
