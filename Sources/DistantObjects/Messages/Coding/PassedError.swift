import KeyedArchive

/// The failure of a message in another process, which a method passes on as it came.
struct PassedError: Error {
    let status: ReturnStatus
    /// The failure as this process reads it.
    let underlying: any Error
    private let archive: [UInt8]
    private let tables: MessageTables

    /// - Parameter references: Those of the answer, as the receiver of the other answer knows them.
    init(_ reply: Reply, _ underlying: any Error, _ references: [AnyObject]) {
        status = reply.status
        self.underlying = underlying
        archive = Array(reply.body.bytes)
        tables = MessageTables(references: references, shapes: reply.tables?.shapes ?? .none)
    }

    /// Writes the failure into a message.
    ///
    /// - Throws: `ArchiveError` if it is larger than the message may be.
    func load(into encoder: ObjectEncoder) throws {
        let shapes = try tables.shapes.read()
        try archive.withUnsafeBytes {
            try encoder.load(archive: $0, externals: tables.references, shapes: shapes)
        }
    }
}
