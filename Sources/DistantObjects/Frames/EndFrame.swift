/// The end of a stream, from either side of it.
enum EndFrame {
    /// The reader stops.
    case reader(UInt32)
    /// The producer has ended. The tables and the body follow: the final value, or what was thrown.
    case producer(UInt32, ReturnStatus)
    /// The producer's side could not go on.
    case failed(UInt32, ConnectionError)

    /// The flags of a reader's End; those of a producer's are a `ReturnStatus`.
    private static let readersFlags: UInt8 = 4
    /// The most bytes of the text of an error.
    private static let textBytes = 256

    /// Reads all fields up to the tables, of which only a producer's End has some.
    ///
    /// - Parameter isOpener: Whether the body follows in fragments.
    init(reading reader: inout WireReader, flags: UInt8, isOpener: Bool) throws(ProtocolViolation) {
        let status = ReturnStatus(rawValue: flags)
        guard flags == Self.readersFlags || status != nil else {
            throw ProtocolViolation(.malformed, "an End has an unknown status")
        }
        let number = try reader.number32()
        switch status {
        case .result?:
            self = .producer(number, .result)
            return
        case .thrown?:
            self = .producer(number, .thrown)
            return
        case .refused?:
            guard !isOpener else {
                throw ProtocolViolation(.malformed, "an End that refuses cannot come in fragments")
            }
            let code = try reader.number()
            let text = try reader.text(limit: Self.textBytes)
            self = .failed(
                number, ConnectionError(.init(number: Int(clamping: code)), text, mayHaveRun: true))
        case nil:
            guard !isOpener else {
                throw ProtocolViolation(.malformed, "an End of a reader cannot come in fragments")
            }
            self = .reader(number)
        }
        try reader.end()
    }
}

extension EndFrame: FrameContent {
    static let kind = FrameKind.end

    var flags: UInt8 {
        switch self {
        case .reader: Self.readersFlags
        case .producer(_, let status): status.rawValue
        case .failed: ReturnStatus.refused.rawValue
        }
    }

    func append(to outbox: inout Outbox) {
        switch self {
        case .reader(let number), .producer(let number, _): outbox.append(number)
        case .failed(let number, let error):
            outbox.append(number)
            outbox.append(UInt64(error.code.number))
            outbox.append(error.message.cut(toBytes: Self.textBytes))
        }
    }
}
