/// A stream of this side that the peer reads.
///
/// Its state is read and written under the connection's lock.
///
///     offered --(first credit)--> running --(its task ended, or this side closes)--> ended
///     offered --(the reader's End, or passed back, or this side closes)--> ended
///
/// The number is free again once both sides have sent their End.
final class StreamOutbox: @unchecked Sendable {
    enum Phase {
        /// The reader has given no credit, so nothing has run.
        case offered
        /// A task reads the sequence.
        case running
        /// This side's End is written.
        case ended
    }

    let number: Int
    let source: StreamSource
    var phase = Phase.offered
    /// Whether the reader has given credit, after which it may not pass the stream back.
    private(set) var wasGivenCredit = false
    /// Whether the reader's End has come.
    var readerHasEnded = false
    /// Items and bytes that this side may still send.
    ///
    /// The bytes are below zero after a frame that took more than were left.
    private(set) var items = 0
    private(set) var bytes = 0
    /// Why the producer has to stop; nil while it may go on.
    var stop: ConnectionError?
    /// The object that runs the sequence, once the sequence runs.
    var producer: AnyObject?
    /// Senders that wait for credit or room.
    var waiters: [VoidWaiter] = []
    /// Whether this stream is in the list of streams that wait for room in the channel.
    var awaitsRoom = false

    init(number: Int, source: StreamSource) {
        self.number = number
        self.source = source
    }

    /// The number of items that may be sent now.
    var allowance: Int { bytes > 0 ? items : 0 }

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
        wasGivenCredit = true
        items += Int(moreItems)
        bytes += Int(moreBytes)
    }

    /// Uses the credit of a frame.
    func use(items count: Int, bytes size: Int) {
        items -= count
        bytes -= size
    }
}
