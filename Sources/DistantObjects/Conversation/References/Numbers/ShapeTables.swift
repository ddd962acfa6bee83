import KeyedArchive

/// The shapes to which the two sides have given numbers.
///
/// The tables are in an object of their own, because most connections never send a shape.
final class ShapeTables: @unchecked Sendable {  // Guarded by the connection's lock.
    @exclusivity(unchecked) var sent = OutboundInterning<Shape>()
    /// Nil before the peer has sent a shape.
    @exclusivity(unchecked) private var given: ReceivedShapes?

    /// The shapes that the peer has given numbers to.
    ///
    /// - Parameter limits: The limits of the shapes that the peer will send.
    func received(_ limits: @autoclosure () -> ArchiveLimits) -> ReceivedShapes {
        if let given { return given }
        let made = ReceivedShapes(limits())
        given = made
        return made
    }
}
