/// The caller no longer waits for the answer to a call.
///
/// The owner cancels the method, and still answers.
struct CancelFrame: FrameContent {
    static let kind = FrameKind.cancel

    /// The number of the question.
    let question: UInt32
}

extension CancelFrame {
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        question = try reader.number32()
        try reader.end()
    }

    func append(to outbox: inout Outbox) { outbox.append(question) }
}
