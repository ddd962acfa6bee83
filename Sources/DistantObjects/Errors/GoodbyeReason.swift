/// Why a party ends a connection, the code in its `Goodbye`.
package enum GoodbyeReason: UInt64, Sendable {
    /// An orderly close.
    case closed = 0
    /// A frame that cannot be read.
    case malformed = 1
    /// Not this protocol, or no version in common.
    case incompatible = 2
    /// The accept rule said no.
    case refused = 3
    /// Something was named that this connection was never given.
    case unknownName = 4
    /// A stale generation, a question in use, a reply to no question.
    case outOfStep = 5
    /// More calls, references or bytes than were granted.
    case overLimit = 6
    /// The handshake took too long.
    case tooSlow = 7
}
