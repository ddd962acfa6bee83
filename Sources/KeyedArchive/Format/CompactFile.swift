/// The frame around a compact archive in a file: magic, shapes, then the body with the roots as its one value.
enum CompactFile {
    /// Begins every compact archive.
    ///
    /// The first byte is not ASCII, and the last two reveal line-end conversions.
    static let magic: [UInt8] = [0x89, 0x4B, 0x41, 0x52, 0x43, 0x01, 0x0D, 0x0A]

    static func parse(
        _ bytes: UnsafeRawBufferPointer, limits: ArchiveLimits
    ) throws -> (shapes: [Shape], body: UnsafeRawBufferPointer) {
        guard bytes.count <= limits.bytes else {
            throw ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes")
        }
        guard bytes.count >= magic.count else { throw ArchiveError(.corrupt, "not an archive") }
        guard bytes.prefix(magic.count).elementsEqual(magic) else {
            throw ArchiveError(.corrupt, "not an archive, or of a version this library does not know")
        }
        var source = ByteSource(bytes, from: magic.count)
        // A shape takes at least four bytes: flags, name, version and a count of keys.
        let count = try source.count(eachAtLeast: 4, limit: min(limits.shapes, 0xFFFF), "shapes")
        var shapes: [Shape] = []
        shapes.reserveCapacity(count)
        var offset = source.position
        for _ in 0..<count { shapes.append(try Shape.parse(bytes, at: &offset, limits: limits)) }
        return (shapes, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    }

    /// The bytes in front of the body.
    static func front(_ shapes: [Shape]) -> ByteSink {
        var front = ByteSink()
        for byte in magic { front.byte(byte) }
        front.varint(UInt64(shapes.count))
        for shape in shapes { shape.definition.withUnsafeBytes { front.append($0) } }
        return front
    }
}
