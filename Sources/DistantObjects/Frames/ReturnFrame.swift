/// The answer to a call.
///
/// The tables and the body follow.
struct ReturnFrame {
    let status: ReturnStatus
    /// The number of the question that is answered.
    let question: UInt32

    init(_ status: ReturnStatus, to question: UInt32) {
        (self.status, self.question) = (status, question)
    }

    @inline(__always)
    init(reading reader: inout WireReader, flags: UInt8) throws(ProtocolViolation) {
        guard let status = ReturnStatus(rawValue: flags) else {
            throw ProtocolViolation(.malformed, "a Return has an unknown status")
        }
        self.status = status
        question = try reader.number32()
    }

    @inline(__always)
    func append(to outbox: inout Outbox) { outbox.append(question) }
}

/// The tables and the body of a message without references, shapes and values.
enum EmptyMessage {
    /// No references, and no shapes.
    static let tables = 2
    /// An archive without objects and values.
    static let body = 2

    /// Whether a body has no value.
    @inline(__always)
    static func isBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.isEmpty || bytes.count == body && bytes.allSatisfy { $0 == 0 }
    }

    static func append(to outbox: inout Outbox) {
        for _ in 0..<(tables + body) { outbox.append(byte: 0) }
    }
}

/// How a call ended: the flags of a `Return` frame.
package enum ReturnStatus: UInt8, Sendable {
    /// The body is the result.
    case result = 0
    /// The method threw; the body is the error.
    case thrown = 1
    /// The method was not run, or its result could not be sent; the body is a code and a sentence.
    case refused = 2
}
