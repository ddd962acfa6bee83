/// The caller no longer uses the answer to a call, which it had asked the owner to keep.
struct DropFrame: FrameContent {
    static let kind = FrameKind.drop

    /// The number of the question.
    let question: UInt32
}

extension DropFrame {
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        question = try reader.number32()
        try reader.end()
    }

    func append(to outbox: inout Outbox) { outbox.append(question) }
}
