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

    /// Throws the problem of bytes that begin like a typedstream, but have no whole header.
    static func expectWhole(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.first == version else { return }
        let signature = bytes.dropFirst(2).prefix(6)
        guard signature.elementsEqual(littleEndian.prefix(6)) || signature.elementsEqual(bigEndian.prefix(6)) else {
            return
        }
        _ = try read(bytes)
    }

    /// The header, and what is behind it.
    static func read(_ bytes: UnsafeRawBufferPointer) throws -> (header: TypedStreamHeader, rest: ByteSource) {
        var source = ByteSource(bytes)
        do { return (try TypedStreamHeader(&source), source) } catch let error as ArchiveError {
            throw ArchiveError(error.code, "\(error.message), at byte \(source.position)")
        }
    }

    /// Reads everything up to the version of the system.
    private init(_ source: inout ByteSource) throws {
        let version = try source.peek()
        guard version == Self.version else {
            throw ArchiveError(
                .unsupported, "expected version \(Self.version) of the typedstream format, found \(version)")
        }
        _ = try source.byte()
        let length = try source.peek()
        guard length == Self.signatureLength else {
            throw ArchiveError(
                .corrupt,
                "expected the signature of a typedstream with \(Self.signatureLength) bytes, "
                    + "found one of \(length)")
        }
        _ = try source.byte()
        guard source.remaining >= Int(length) else {
            throw ArchiveError(.truncated, "expected the signature of a typedstream, found the end")
        }
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
