/// The sender sends nothing more, and closes the connection.
struct GoodbyeFrame {
    /// The most bytes of the text.
    static let textBytes = 1_024

    /// The number of the receiver's last frame that the sender has entered.
    ///
    /// Later messages were not taken.
    let entered: UInt64
    /// Why; nil for a reason that this side does not know.
    let reason: GoodbyeReason?
    let text: String

    init(entered: UInt64, _ reason: GoodbyeReason, _ text: String) {
        (self.entered, self.reason, self.text) = (entered, reason, text.cut(toBytes: Self.textBytes))
    }

    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        entered = try reader.number()
        reason = GoodbyeReason(rawValue: try reader.number())
        text = try reader.text(limit: Self.textBytes)
        // Skips fields that a later version adds.
    }

    /// Writes the fields; also for a peer that is refused before there is a conversation.
    func append(to buffer: inout PrefixBuffer) {
        buffer.append(entered)
        buffer.append((reason ?? .closed).rawValue)
        buffer.append(text)
    }
}

/// Why a side ends a connection: the code in its `Goodbye`.
package enum GoodbyeReason: UInt64, Sendable {
    /// An orderly close.
    case closed = 0
    /// A frame that cannot be read.
    case malformed = 1
    /// Not this protocol, or no version in common.
    case incompatible = 2
    /// The accept rule refused the peer.
    case refused = 3
    /// An unknown object, question, name or feature was named.
    case unknownName = 4
    /// A frame that is not allowed now, such as a stale id, a question number in use, or a reply to no question.
    case outOfStep = 5
    /// More calls, references or bytes than were granted.
    case overLimit = 6
    /// The handshake took too long.
    case tooSlow = 7
}
