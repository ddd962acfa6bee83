@_spi(Queues) import PortTransport
import Synchronization

/// The items of one frame, which the reader decodes one after the other.
final class StreamItems: @unchecked Sendable {
    // The thread that reads the connection makes the object. The connection's lock guards it until the stream's reader
    // owns it.
    let count: Int
    /// The bytes of the stream's credit that the frame takes.
    let bytes: Int
    let tables: MessageTables?
    let body: InboundBody

    init(count: Int, bytes: Int, tables: MessageTables?, body: InboundBody) {
        self.count = count
        self.bytes = bytes
        self.tables = tables
        self.body = body
    }
}

/// How a stream ended for its reader, after its last item.
enum StreamEnd {
    /// The producer's End, with the final value or the error that the sequence threw.
    case message(ReturnStatus, InboundBody, MessageTables?)
    case failed(any Error)
}

/// A stream of the peer that this side reads.
///
/// Its state is read and written under the connection's lock, except `isOver`.
final class StreamInbox: FragmentedStream, @unchecked Sendable {
    /// Which Ends were sent and received.
    enum Link {
        case open
        /// This side's End is written; the producer's is to come.
        case closing
        /// Both Ends were sent, or the connection has ended.
        case over
    }

    /// The progress of the reader in this process.
    enum Reading {
        case unread
        case reading
        /// The reader has seen the end, or has given up.
        case done
    }

    /// The result of a reader's request for the next frame.
    enum Next: @unchecked Sendable {  // Handed over to the reader's task, never shared.
        case items(StreamItems)
        case end(StreamEnd)
        case nothing
    }

    let number: UInt32
    var link = Link.open
    /// The number of the frame with this side's End, once the End is written.
    var endFrame: UInt64 = 0
    var reading = Reading.unread
    /// Frames that have arrived, or whose fragments arrive.
    var frames = Ring<StreamItems>()
    /// The end of the stream, which follows the frames, once it is known.
    var end: StreamEnd?
    /// The reader that waits for a frame.
    var waiter: VoidWaiter?
    /// The waiters for the final value.
    var finalWaiters: [VoidWaiter] = []
    /// Items and bytes that the producer may still send.
    private(set) var items = 0
    private(set) var bytes = 0
    private var readAhead = ReadAhead()
    private let over = Atomic<Bool>(false)

    init(number: UInt32) { self.number = number }

    /// Gives the first credit.
    ///
    /// - Parameter readAhead: How much the reader lets the producer send.
    /// - Returns: The items of the first Credit frame, and those of a second one, which is for no bytes.
    func begin(_ readAhead: ReadAhead) -> (first: Int, more: Int) {
        self.readAhead = readAhead
        items = readAhead.window
        bytes = ReadAhead.bytes
        let first = min(items, ReadAhead.firstCredit)
        return (first, items - first)
    }

    /// Counts a frame of the producer.
    func receive(items count: UInt64, bytes size: Int) throws(ProtocolViolation) {
        guard count > 0 else { throw ProtocolViolation(.malformed, "an Item without items") }
        guard bytes > 0, count <= UInt64(items) else {
            throw ProtocolViolation(.overLimit, "more items of a stream were sent than were granted")
        }
        items -= Int(count)
        bytes -= size
        if items == 0 { readAhead.usedUp() }
    }

    /// Takes the next frame, which the reader begins to consume.
    func takeFrame(at now: UInt64) -> StreamItems? {
        guard let frame = frames.popFirst() else { return nil }
        readAhead.began(at: now)
        return frame
    }

    /// Counts a frame that was consumed.
    ///
    /// - Returns: The credit to return now.
    func consumed(_ frame: StreamItems, at now: UInt64) -> (items: Int, bytes: Int)? {
        guard let due = readAhead.consumed(frame, at: now, isDry: frames.isEmpty) else { return nil }
        items += due.items
        bytes += due.bytes
        return due
    }

    /// Whether the release of the stream's handle has no effect any more.
    ///
    /// This may be read without the lock.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func markOver() { over.store(true, ordering: .releasing) }

    /// Whether the reader would get a frame or the end.
    var hasNext: Bool {
        if let first = frames.first { return first.body.isComplete }
        return end?.isComplete ?? false
    }

    /// Drops the frames that have not arrived completely, because no more bytes come.
    ///
    /// - Returns: The frames that are dropped.
    func cut(_ error: any Error) -> [StreamItems] {
        var kept = Ring<StreamItems>()
        var dropped: [StreamItems] = []
        while let frame = frames.popFirst() {
            if dropped.isEmpty, frame.body.isComplete { kept.append(frame) } else { dropped.append(frame) }
        }
        frames = kept
        if !dropped.isEmpty || end?.isComplete != true { end = .failed(error) }
        return dropped
    }
}

extension StreamEnd {
    var isComplete: Bool {
        switch self {
        case .message(_, let body, _): body.isComplete
        case .failed: true
        }
    }
}

extension InboundBody {
    /// Whether all bytes have arrived, or no more bytes will.
    var isComplete: Bool {
        if case .arriving(let partial) = self { partial.bytes != nil || partial.isAborted } else { true }
    }
}
