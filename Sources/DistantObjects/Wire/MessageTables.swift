import KeyedArchive

/// The references and class shapes of a message that has any: most have not, and pay nothing for them.
///
/// It holds the references until the message is decoded or dropped.
final class MessageTables: Sendable {
    nonisolated(unsafe) let references: [AnyObject]
    let shapes: [Shape]
    /// Why the message cannot be decoded.
    ///
    /// Its tables were entered all the same, so that later ones mean the same on both sides.
    let fault: ArchiveError?

    init(references: [AnyObject], shapes: [Shape], fault: ArchiveError? = nil) {
        self.references = references
        self.shapes = shapes
        self.fault = fault
    }
}
