/// The beginning of a typedstream.
///
///     04           the version of the format
///     0B           the length of the signature
///     streamtyped  little-endian numbers; "typedstream": big-endian ones
///     81 E8 03     the version of the system, a number
struct TypedStreamHeader {
    static let version: UInt8 = 4
    /// The version of the oldest systems, of which no file is known.
    static let oldVersion: UInt8 = 3
    static let littleEndian = Array("streamtyped".utf8)
    static let bigEndian = Array("typedstream".utf8)
    static let signatureLength = UInt8(littleEndian.count)

    let isBigEndian: Bool

    /// Whether bytes begin like a typedstream of any version; a whole signature is needed.
    static func begins(_ bytes: some Collection<UInt8>, version: UInt8) -> Bool {
        bytes.starts(with: [version, signatureLength] + littleEndian)
            || bytes.starts(with: [version, signatureLength] + bigEndian)
    }

    /// Reads everything up to the version of the system.
    init(_ source: inout ByteSource) throws {
        let version = try source.peek()
        guard version == Self.version else {
            throw ArchiveError(
                .unsupported, "expected version \(Self.version) of the typedstream format, found \(version)")
        }
        _ = try source.byte()
        let length = try source.peek()
        guard length == Self.signatureLength else {
            throw ArchiveError(
                .corrupt, "expected a signature of \(Self.signatureLength) bytes, found one of \(length)")
        }
        _ = try source.byte()
        let signature = Array(try source.bytes(Int(length)))
        guard signature == Self.bigEndian || signature == Self.littleEndian else {
            throw ArchiveError(.corrupt, "expected the signature “typedstream” or “streamtyped”")
        }
        isBigEndian = signature == Self.bigEndian
    }

    /// The bytes up to the version of the system.
    static func bytes(isBigEndian: Bool) -> [UInt8] {
        [version, signatureLength] + (isBigEndian ? bigEndian : littleEndian)
    }
}
