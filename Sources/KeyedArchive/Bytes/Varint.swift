/// Numbers stored seven bits to a byte, lowest first; the top bit says that more bytes follow.
package enum Varint {
    /// Reads a number.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain it.
    ///   - position: Where it begins; afterwards, where it ends.
    /// - Throws: `ArchiveError` if it is cut off, or has more than 64 bits.
    package static func read(_ bytes: [UInt8], at position: inout Int) throws -> UInt64 {
        try bytes.withUnsafeBytes {
            var source = ByteSource($0, from: position)
            defer { position = source.position }
            return try source.varint()
        }
    }
}
