import KeyedArchive

/// A class shape of the peer's.
enum InboundShape {
    case known(Shape)
    /// It takes its number, and whatever uses it is refused.
    case unreadable(ArchiveError)
}
