import KeyedArchive

/// The references and class shapes of a message.
///
/// Messages without any have no object of this class. It holds the references until the message is decoded or dropped. A peer can
/// have many messages wait, so an entry keeps little more than the bytes that it took in the frame: a reference to an object
/// that exists anyway, and the bytes of a shape.
final class MessageTables: @unchecked Sendable {
    // The connection's lock guards `references` and `namesAnswers` until the message is started or dropped. After that one
    // thread owns the tables: the one that decodes the message, or the one that releases it.
    @exclusivity(unchecked) private(set) var references: [AnyObject]
    let shapes: PackedShapes
    /// Why the message cannot be decoded; nil if it can.
    ///
    /// Its tables were entered nevertheless, so that both sides agree on the numbers in later messages.
    let fault: ArchiveError?
    /// Whether answers of this side are among the references, which may not be known.
    @exclusivity(unchecked) private(set) var namesAnswers: Bool
    /// Whether bytes in regions of the peer are among the references.
    let hasBlobs: Bool
    /// The bytes of memory that the tables keep, about.
    let memory: Int

    /// What an object takes that is made for an entry, such as a proxy and its entry in the table of imports.
    static let objectBytes = 256

    /// - Parameter made: The number of objects that were made for these references.
    init(
        references: [AnyObject], shapes: PackedShapes = .none, fault: ArchiveError? = nil, namesAnswers: Bool = false,
        hasBlobs: Bool = false, made: Int = 0
    ) {
        self.references = references
        self.shapes = shapes
        self.fault = fault
        self.namesAnswers = namesAnswers
        self.hasBlobs = hasBlobs
        memory = references.count * MemoryLayout<AnyObject>.stride + shapes.byteCount + made * Self.objectBytes
    }

    /// Puts others in the place of references, now that all answers among them are known.
    func resolveAnswers(_ known: (AnyObject) -> AnyObject?) {
        namesAnswers = false
        for index in references.indices {
            if let object = known(references[index]) { references[index] = object }
        }
    }
}
