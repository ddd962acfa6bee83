/// A one-way message of the receiver has failed.
struct FailedFrame: FrameContent {
    static let kind = FrameKind.failed
    /// The most bytes of the text.
    static let textBytes = 256

    /// The number of the message's frame.
    let number: UInt64
    let error: ConnectionError

    init(_ error: ConnectionError, of number: UInt64) {
        (self.number, self.error) = (number, error)
    }

    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        number = try reader.number()
        let code = try reader.number()
        error = ConnectionError(.init(number: Int(clamping: code)), try reader.text(limit: Self.textBytes))
        try reader.end()
    }

    func append(to outbox: inout Outbox) {
        outbox.append(number)
        outbox.append(UInt64(error.code.number))
        outbox.append(error.description.cut(toBytes: Self.textBytes))
    }
}
