@_spi(Queues) import PortTransport

/// A stream of this side that the peer reads.
///
/// Its state is read and written under the connection's lock.
final class StreamOutbox: @unchecked Sendable {
    let number: Int
    let source: StreamSource
    var life = StreamLife.offered
    /// Items and bytes that this side may still send.
    ///
    /// The bytes are below zero after a frame that took more than were left.
    private(set) var items = 0
    private(set) var bytes = 0
    /// The most items that the reader has let this side send at a time.
    private var window = 0
    /// What this side holds back; nil if the reader alone decides.
    private let held: HeldBack?
    /// The object that runs the sequence, until this side's End is written and the task has ended or is cancelled.
    var producer: AnyObject?
    /// Senders that wait for credit or room.
    var waiters: [VoidWaiter] = []

    init(number: Int, source: StreamSource) {
        self.number = number
        self.source = source
        held = source.readAhead.map { HeldBack(readAhead: $0) }
    }

    /// Why the producer has to stop; nil while it may go on.
    var stop: ConnectionError? { life.stop }

    /// The object whose task has to be cancelled.
    func producerToCancel() -> AnyObject? {
        defer { if life.hasEnded { producer = nil } }
        return producer
    }

    /// The number of items that may be sent now.
    ///
    /// At most half of what the reader lets this side send at all, so that it gives credit for one half while it consumes
    /// the other.
    var allowance: Int {
        guard bytes > 0 else { return 0 }
        let half = max(1, window / 2)
        guard let held else { return min(items, half) }
        return min(items, half, max(1, held.most / 2), held.room)
    }

    /// The number of items that may be sent now, of a stream that goes on.
    ///
    /// - Throws: Why the producer has to stop, if it has to.
    func checkedAllowance() throws(ConnectionError) -> Int {
        if let stop { throw stop }
        return allowance
    }

    /// Adds credit of the reader.
    func give(items moreItems: UInt64, bytes moreBytes: UInt64) throws(ProtocolViolation) {
        let limit = UInt64(ProtocolLimits.streamCredit)
        guard moreItems <= limit, moreBytes <= limit, items + Int(moreItems) <= Int(limit),
            bytes + Int(moreBytes) <= Int(limit)
        else { throw ProtocolViolation(.overLimit, "a stream was given more credit than the protocol allows") }
        held?.give(items: Int(moreItems), bytes: Int(moreBytes))
        items += Int(moreItems)
        bytes += Int(moreBytes)
        window = max(window, items)
    }

    /// Uses the credit of a frame.
    func use(items count: Int, bytes size: Int) {
        items -= count
        bytes -= size
        held?.use(items: count, bytes: size)
    }
}

/// What a producer may send of a stream that it does not let the reader read ahead as far as the reader would.
///
/// The producer knows which items the reader has consumed by the bytes that it gives credit for: they are those of the
/// frames, one after the other.
private final class HeldBack {
    /// The items that may be sent and not consumed.
    private(set) var most: Int
    private var hasBegun = false
    /// Frames that were not consumed.
    private var frames = Ring<(items: Int, bytes: Int)>()
    private var items = 0
    /// Bytes of the first frame that the reader has given back.
    private var bytes = 0

    init(readAhead: Int) { most = min(max(readAhead, 0), 1 << 30) + 1 }

    var room: Int { max(0, most - items) }

    func use(items count: Int, bytes size: Int) {
        frames.append((count, size))
        items += count
    }

    func give(items moreItems: Int, bytes moreBytes: Int) {
        guard hasBegun else {
            hasBegun = true
            // The reader may return nothing until it has consumed half of its first credit.
            most = max(most, (moreItems + 1) / 2)
            return
        }
        bytes += moreBytes
        while let first = frames.first, first.bytes <= bytes {
            bytes -= first.bytes
            items -= first.items
            _ = frames.popFirst()
        }
    }
}
