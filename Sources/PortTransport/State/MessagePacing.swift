internal import CPortShims

/// Limits how many bytes of large messages are in the kernel's buffer: few while other frames are sent and received,
/// because these wait behind them.
///
/// With Linux's default buffer a ping behind a large message takes 8.5 times as long as a ping on an idle channel; with
/// 32 KiB, 3.1 times.
struct MessagePacing {
    /// The channel stays narrow for so many continuations after the last other frame.
    private static let memory = 32
    /// The channel stays narrow for so many pieces of a region, which are quick.
    private static let pieceMemory = 512
    /// The most pieces that may wait to be read while the channel is narrow.
    private static let narrowPieces = 2
    private static let narrowBuffer: CInt = 16 << 10
    /// Apple's buffers are narrow from the beginning, and their size follows their content.
    #if canImport(Darwin)
        private static let isWide = false
    #else
        private static let isWide = true
    #endif

    private var message: UInt64 = 0
    private var enqueued: UInt64 = 0
    private var read: UInt64 = 0
    private var left = 0
    private(set) var isNarrow = false
    /// The buffer's size before it was made narrow; 0: it was not.
    private var wide: CInt = 0

    /// The continuations that one write may hold, now that `message` is being written.
    ///
    /// - Parameter takesPieces: Whether they go into pieces of a region.
    mutating func fragments(
        _ link: Link, message: UInt64, takesPieces: Bool, enqueued: UInt64, read: UInt64
    ) -> Int {
        // The frames before the first message, including its own opener, are no sign of other traffic.
        if self.message != message, left == 0 {
            self.enqueued = enqueued
            self.read = read
        }
        self.message = message
        if enqueued != self.enqueued || read != self.read {
            self.enqueued = enqueued
            self.read = read
            left = takesPieces ? Self.pieceMemory : Self.memory
        } else if left > 0 {
            left -= 1
        }
        setNarrow(left > 0, link)
        return left > 0 ? 1 : OutboundQueue.maximumFragments
    }

    /// How many bytes may wait in shared memory.
    func sharedBound(_ sizes: OutputSizes) -> Int {
        isNarrow ? min(2 * Int(Self.narrowBuffer), sizes.ring) : sizes.ring
    }

    /// How many pieces may wait to be read, and what each holds at most.
    var pieces: Int { isNarrow ? Self.narrowPieces : Region.pieces }
    func pieceSize(_ sizes: OutputSizes) -> Int { isNarrow ? sizes.narrowPiece : sizes.piece }

    /// No large message is left.
    mutating func rest(_ link: Link) { setNarrow(false, link) }

    private mutating func setNarrow(_ isNarrow: Bool, _ link: Link) {
        guard isNarrow != self.isNarrow else { return }
        self.isNarrow = isNarrow
        guard Self.isWide, case .socket(let descriptor) = link else { return }
        if isNarrow {
            wide = max(port_send_buffer(descriptor), 2 * Self.narrowBuffer)
            _ = port_set_send_buffer(descriptor, Self.narrowBuffer)
        } else {
            // The kernel reports twice the size that was set.
            _ = port_set_send_buffer(descriptor, wide / 2)
            wide = 0
        }
    }
}
