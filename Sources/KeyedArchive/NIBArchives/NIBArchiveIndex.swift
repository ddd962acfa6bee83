/// Where the objects, keys, values and classes of a NIBArchive lie: four bytes for each.
// Changed only by the reader that opens the archive, before anything else knows of it.
final class NIBArchiveIndex: @unchecked Sendable {
    let bytes: ArchiveBytes
    let objects = Column<UInt32>()
    let keys = Column<UInt32>()
    let values = Column<UInt32>()
    let classes = Column<UInt32>()

    /// The most bytes of a file.
    static let most = Int(UInt32.max)

    init(_ bytes: ArchiveBytes) { self.bytes = bytes }

    /// The bytes from a place on.
    func source(at position: UInt32) -> NIBArchiveSource {
        NIBArchiveSource(ByteSource(bytes.bytes, from: Int(position)))
    }
}
