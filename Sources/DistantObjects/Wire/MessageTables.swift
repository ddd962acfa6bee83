import KeyedArchive

/// The references and class shapes of a message.
///
/// Messages without any have no object of this class. It holds the references until the message is decoded or dropped.
final class MessageTables: Sendable {
    nonisolated(unsafe) let references: [AnyObject]
    let shapes: [Shape]
    /// Why the message cannot be decoded; nil if it can.
    ///
    /// Its tables were entered nevertheless, so that both sides agree on the numbers in later messages.
    let fault: ArchiveError?
    /// Whether answers of this side are among the references.
    let namesAnswers: Bool
    /// Whether bytes in regions of the peer are among the references.
    let hasBlobs: Bool

    init(
        references: [AnyObject], shapes: [Shape], fault: ArchiveError? = nil, namesAnswers: Bool = false,
        hasBlobs: Bool = false
    ) {
        self.references = references
        self.shapes = shapes
        self.fault = fault
        self.namesAnswers = namesAnswers
        self.hasBlobs = hasBlobs
    }
}
