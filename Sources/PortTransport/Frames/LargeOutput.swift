/// The large messages that a channel has yet to write.
///
/// It is an object of its own, made for the first of them, because most channels never send one. Read and written under
/// the channel's queue lock.
final class LargeOutput {
    /// What the last write has left of a continuation of the first message.
    enum Unfinished {
        case none
        /// Some bytes are written, so the rest goes before everything else.
        case begun(OutboundQueue.Fragment)
        /// The bytes are in a piece of the region, and no byte of the header is written.
        ///
        /// The header follows the frames that were planned before it, among them perhaps the message's opener. They are
        /// what `draining` holds.
        case filled(OutboundQueue.Fragment)

        var fragment: OutboundQueue.Fragment? {
            switch self {
            case .none: nil
            case .begun(let fragment), .filled(let fragment): fragment
            }
        }
    }

    var messages = Ring<LargeMessage>()
    var unfinished = Unfinished.none
    /// Whether the write that is planned holds the last continuation of the first message.
    var isEndPlanned = false
    var aborted: [UInt64] = []
    /// The numbers of messages to abort once the current write is over.
    var delayedAborts: [UInt64] = []
    /// Bytes of messages begun and not yet consumed by the peer.
    var outstanding: UInt64 = 0
    /// Unwritten bytes of this side's own messages, and of answers.
    var unsentOwn = 0
    var unsentAnswers = 0
    /// Messages that are finished, for the owner to free without its lock: the owner of their memory may be a user's
    /// object.
    var spent: [LargeMessage] = []
    /// Memory for four headers of continuations, for the current plan.
    let headers = UnsafeMutableRawPointer.allocate(
        byteCount: OutboundQueue.maximumFragments * LargeOutput.headerStride, alignment: 8)

    /// The room for each header: as large as the longest form.
    static let headerStride = 24

    private let sizes: OutputSizes.Shared

    init(_ sizes: OutputSizes.Shared) { self.sizes = sizes }

    deinit { headers.deallocate() }

    /// Whether the first message may go on now.
    ///
    /// - Parameter window: The most bytes that may be outstanding, unless they belong to a single message.
    func mayGo(within window: UInt64) -> Bool {
        guard !messages.isEmpty else { return false }
        if messages[0].isStarted { return true }
        return outstanding == 0 || outstanding + UInt64(messages[0].total) <= window
    }

    /// Whether the first message takes pieces of a region, if there is one.
    var takesPieces: Bool { messages.count > 0 && messages[0].total >= sizes.value.smallestForPieces }

    /// Whether the next continuation of the first message goes into a piece.
    var wantsPiece: Bool { takesPieces && messages[0].total - messages[0].offset >= sizes.value.smallestPiece }

    /// The index of a message in the queue.
    func index(of number: UInt64) -> Int? { (0..<messages.count).first { messages[$0].number == number } }

    /// Notes that a message is given up.
    func abandon(_ message: LargeMessage) {
        spent.append(message)
        aborted.append(message.number)
    }
}
