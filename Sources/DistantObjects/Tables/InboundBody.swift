import PortTransport

/// The bytes of a message: all received, or still arriving in fragments.
enum InboundBody {
    case whole(ByteSlice)
    case arriving(PartialMessage)
    /// Decoded, so that the bytes are no longer needed.
    case taken

    /// The bytes that the message takes of the window for large messages.
    var bulk: Int {
        switch self {
        case .whole, .taken: 0
        case .arriving(let partial): partial.bytes?.bytes.count ?? 0
        }
    }

    /// The bytes, and how many of them the window for large messages counts; `nil` if the sender aborted the message.
    var bytes: (ByteSlice, bulk: Int)? {
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
