import PortTransport

/// The bytes of a message: all received, or still arriving in fragments.
enum InboundBody {
    case whole(ByteSlice)
    case arriving(PartialMessage)
    /// The arguments were decoded.
    case taken

    /// Bytes of the large-message window that the message takes.
    var bulk: Int {
        switch self {
        case .whole, .taken: 0
        case .arriving(let partial): partial.bytes?.bytes.count ?? 0
        }
    }

    /// The bytes, and how many of them the large-message window counts; `nil` if the sender gave the message up.
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
