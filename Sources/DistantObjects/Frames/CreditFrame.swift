/// The receiver may send more.
enum CreditFrame: FrameContent {
    /// That many calls.
    case calls(UInt64)
    /// That many bytes of large messages were consumed.
    case largeMessages(bytes: UInt64)
    /// That many one-way messages.
    case oneWays(UInt64)
    /// That many items of a stream, with so many bytes at most.
    case stream(UInt32, items: UInt64, bytes: UInt64)

    static let kind = FrameKind.credit

    init(reading reader: inout WireReader, flags: UInt8) throws(ProtocolViolation) {
        let number = flags == 3 ? UInt64(try reader.number32()) : try reader.number()
        switch flags {
        case 0: self = .calls(number)
        case 1: self = .largeMessages(bytes: number)
        case 2: self = .oneWays(number)
        case 3:
            self = .stream(
                UInt32(truncatingIfNeeded: number), items: try reader.number(), bytes: try reader.number())
        default: throw ProtocolViolation(.malformed, "a Credit of an unknown kind")
        }
        try reader.end()
    }

    var flags: UInt8 {
        switch self {
        case .calls: 0
        case .largeMessages: 1
        case .oneWays: 2
        case .stream: 3
        }
    }

    func append(to outbox: inout Outbox) {
        switch self {
        case .calls(let count), .largeMessages(let count), .oneWays(let count): outbox.append(count)
        case .stream(let number, let items, let bytes):
            outbox.append(number)
            outbox.append(items)
            outbox.append(bytes)
        }
    }
}
