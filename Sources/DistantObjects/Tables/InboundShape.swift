import KeyedArchive

/// A class shape that the peer has sent.
enum InboundShape {
    case known(Shape)
    /// The shape keeps its number; a message that uses it is refused.
    case unreadable(ArchiveError)
}
