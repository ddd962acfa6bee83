import KeyedArchive

/// A class shape that the peer has sent.
enum InboundShape {
    case known(Shape)
    /// It has its number, and a message that uses it is refused.
    case unreadable(ArchiveError)
}
