import KeyedArchive

/// The shapes to which the two sides have given numbers.
///
/// It is an object of its own, because most connections never send one.
final class ShapeTables: @unchecked Sendable {  // Guarded by the connection's lock.
    @exclusivity(unchecked) var sent = OutboundInterning<Shape>()
    @exclusivity(unchecked) var received = InboundInterning<InboundShape>()
}

/// A class shape that the peer has sent.
enum InboundShape {
    case known(Shape)
    /// The shape keeps its number; a message that uses it is refused.
    case unreadable(ArchiveError)
}
