/// Numbers of seven bits a byte, the lowest first; the top bit says that more follow.
package enum Varint {
    /// Reads a number.
    ///
    /// - Parameters:
    ///   - bytes: Where it stands.
    ///   - position: Where it begins; past it afterwards.
    /// - Throws: `ArchiveError` if it is cut off, or has more than 64 bits.
    package static func read(_ bytes: [UInt8], at position: inout Int) throws -> UInt64 {
        try bytes.withUnsafeBytes {
            var source = ByteSource($0, from: position)
            defer { position = source.position }
            return try source.varint()
        }
    }
}
