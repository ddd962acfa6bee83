import PortTransport

/// The bytes of a message: all received, or still arriving in fragments.
enum InboundBody {
    case whole(ByteSlice)
    case arriving(PartialMessage)
    /// The message is decoded or dropped, so that the bytes are no longer needed.
    case taken

    /// Takes the number of bytes for which the caller has to give credit back to the peer.
    func takeLargeBytes() -> Int { if case .arriving(let partial) = self { partial.takeLargeBytes() } else { 0 } }

    /// Notes that the message is started or read.
    func leaveWaiting() { if case .arriving(let partial) = self { partial.place = .started } }

    /// Drops the bytes, also those that are still to come.
    ///
    /// - Returns: The number of bytes for which the caller has to give credit back to the peer.
    func drop() -> Int { if case .arriving(let partial) = self { partial.drop() } else { 0 } }

    /// Whether the bytes were dropped because the message was refused: there was no memory for it, or it blocked the
    /// window.
    var isRefused: Bool { if case .arriving(let partial) = self { partial.isRefused } else { false } }

    /// The bytes, and how many of them came in fragments; `nil` if the sender aborted the message or it was refused.
    var bytes: (ByteSlice, largeBytes: Int)? {
        switch self {
        case .whole(let slice):
            return (slice, 0)
        case .arriving(let partial):
            guard let slice = partial.bytes else { return nil }
            return (slice, slice.bytes.count)
        case .taken:
            return nil
        }
    }
}
