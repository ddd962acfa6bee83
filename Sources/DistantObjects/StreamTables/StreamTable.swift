/// The open streams of a connection in both directions.
struct StreamTable {
    /// Streams of this side by number; as long as the most that were ever open.
    private(set) var outgoing: [StreamOutbox?] = []
    /// Streams of the peer by number.
    private var incoming = SmallDictionary<UInt32, StreamInbox>()
    /// The number of this side's last frame about a stream of the peer that is over, by stream.
    ///
    /// A peer that uses the number again without having read that frame is not honest: it could make this side queue any
    /// number of frames.
    private var lastEnds: [UInt32: UInt64] = [:]
    /// Streams of this side that wait for room in the channel.
    private var awaitingRoom: [StreamOutbox] = []
    private(set) var outgoingCount = 0

    var incomingCount: Int { incoming.count }
    var isAwaitingRoom: Bool { !awaitingRoom.isEmpty }
    /// Whether no stream is open.
    var isEmpty: Bool { outgoingCount == 0 && incoming.isEmpty }

    // MARK: This side's

    /// Opens a stream of this side under the lowest free number.
    ///
    /// - Returns: nil if there are too many.
    mutating func open(_ source: StreamSource, limit: Int) -> StreamOutbox? {
        guard outgoingCount < limit else { return nil }
        let index = outgoingCount == outgoing.count ? nil : outgoing.firstIndex { $0 == nil }
        let stream = StreamOutbox(number: index ?? outgoing.count, source: source)
        if let index { outgoing[index] = stream } else { outgoing.append(stream) }
        outgoingCount += 1
        return stream
    }

    /// The stream of this side that the peer names.
    func outbox(_ number: UInt32) throws(ProtocolViolation) -> StreamOutbox {
        guard Int(number) < outgoing.count else {
            throw ProtocolViolation(.unknownName, "a stream was named that was never given")
        }
        guard let stream = outgoing[Int(number)], !stream.readerHasEnded else {
            throw ProtocolViolation(.outOfStep, "a stream was named by its reader after the reader's End")
        }
        return stream
    }

    mutating func remove(_ stream: StreamOutbox) {
        guard stream.number < outgoing.count, outgoing[stream.number] === stream else { return }
        outgoing[stream.number] = nil
        outgoingCount -= 1
    }

    mutating func awaitRoom(_ stream: StreamOutbox) {
        guard !stream.awaitsRoom else { return }
        stream.awaitsRoom = true
        awaitingRoom.append(stream)
    }

    mutating func takeAwaitingRoom() -> [StreamOutbox] {
        defer { awaitingRoom = [] }
        for stream in awaitingRoom { stream.awaitsRoom = false }
        return awaitingRoom
    }

    // MARK: The peer's

    mutating func enter(_ inbox: StreamInbox, mayBeWritten: (UInt64) -> Bool) throws(ProtocolViolation) {
        guard incoming[inbox.number] == nil else {
            throw ProtocolViolation(.outOfStep, "a stream was given a number that is in use")
        }
        if let last = lastEnds[inbox.number] {
            guard mayBeWritten(last) else {
                throw ProtocolViolation(.outOfStep, "a stream was given a number before its reader's End was read")
            }
            lastEnds[inbox.number] = nil
        }
        incoming.insert(inbox, for: inbox.number)
    }

    /// The stream of the peer that it names.
    func inbox(_ number: UInt32) throws(ProtocolViolation) -> StreamInbox {
        guard let inbox = incoming[number] else {
            guard lastEnds[number] == nil else {
                throw ProtocolViolation(.outOfStep, "a stream was named after its producer's End")
            }
            throw ProtocolViolation(.unknownName, "an Item or End names a stream that is not open")
        }
        return inbox
    }

    mutating func remove(_ inbox: StreamInbox) {
        guard incoming.removeValue(forKey: inbox.number) != nil else { return }
        lastEnds[inbox.number] = inbox.endFrame
    }

    // MARK: The end

    /// Empties the table.
    mutating func removeAll() -> (outgoing: [StreamOutbox], incoming: [StreamInbox]) {
        defer { self = StreamTable() }
        return (outgoing.compactMap { $0 }, incoming.values)
    }

    var all: (outgoing: [StreamOutbox], incoming: [StreamInbox]) { (outgoing.compactMap { $0 }, incoming.values) }
}
