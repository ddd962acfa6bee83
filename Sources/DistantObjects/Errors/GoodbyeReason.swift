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
