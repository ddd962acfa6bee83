import PortTransport

/// The bytes of a message, there or still on the way in fragments.
enum InboundBody {
    case whole(ByteSlice)
    case arriving(PartialMessage)
    /// The arguments were decoded.
    case taken

    /// How much of the bulk window the bytes take.
    var bulk: Int {
        switch self {
        case .whole, .taken: 0
        case .arriving(let partial): partial.bytes?.bytes.count ?? 0
        }
    }

    /// The bytes, and how much of the bulk window they take; `nil` if the sender gave up in the middle.
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
