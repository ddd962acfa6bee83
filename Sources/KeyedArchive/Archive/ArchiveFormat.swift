/// The formats an archive can be written in.
public struct ArchiveFormat: Sendable, Hashable {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// This library's own format: small, fast, self-describing.
    ///
    /// <doc:CompactFormat> describes it byte by byte.
    public static let compact = ArchiveFormat("compact")

    /// The format of Apple's `NSKeyedArchiver`, as a binary property list.
    ///
    /// <doc:AppleFormat> describes how values are written.
    public static let binary = ArchiveFormat("binary")

    /// The format of Apple's `NSKeyedArchiver`, as a property list in XML.
    public static let xml = ArchiveFormat("xml")

    /// The format of Apple's older `NSArchiver`: values in order, without keys.
    ///
    /// ``TypedStreamGraph`` reads it and writes it back.
    public static let typedstream = ArchiveFormat("typedstream")

    /// The format of compiled nibs and storyboards.
    ///
    /// ``NIBArchiveGraph`` reads it; it is not written.
    public static let nibArchive = ArchiveFormat("nibArchive")
}

extension ArchiveFormat: CustomStringConvertible {
    /// The name of the format.
    public var description: String { name }

    /// Detects the format of an archive from its first bytes; nil if they match none.
    ///
    /// The rest is not checked and may still be corrupt.
    ///
    /// - Parameter bytes: The archive.
    public init?(detecting bytes: some Collection<UInt8>) {
        if bytes.starts(with: PlistTable.magic) {
            self = .binary
        } else if bytes.starts(with: CompactFile.magic.prefix(5)) {
            self = .compact
        } else if Self.isXML(bytes) {
            self = .xml
        } else if TypedStreamHeader.begins(bytes, version: TypedStreamHeader.version) {
            self = .typedstream
        } else if bytes.starts(with: NIBArchiveReader.magic) {
            self = .nibArchive
        } else {
            return nil
        }
    }

    private static func isXML(_ bytes: some Collection<UInt8>) -> Bool {
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return true }
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes.dropFirst(0)
        let start = text.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(2)
        // An old-style property list may begin with "<" too, but only hexadecimal digits follow.
        guard start.first == UInt8(ascii: "<"), let next = start.dropFirst().first else { return false }
        let isMark = next == UInt8(ascii: "?") || next == UInt8(ascii: "!")
        let isName = next == UInt8(ascii: "p") || next == UInt8(ascii: "d")
        return isMark || isName
    }

    /// Files that are met where archives are expected, by their first bytes.
    private static let otherFiles: [(beginning: [UInt8], name: String)] = [
        (Array("GNUstep archive".utf8), "an archive of GNUstep's own NSArchiver"),
        (Array("SQLite format 3\u{0}".utf8), "an SQLite database, whose columns may contain archives"),
        (Array("book\u{0}\u{0}\u{0}\u{0}mark".utf8), "bookmark data"), ([0x1F, 0x8B], "a file compressed by gzip"),
        (Array("BZh".utf8), "a file compressed by bzip2"), (Array("PK\u{3}\u{4}".utf8), "a ZIP file"),
        (Array("rtfd\u{0}".utf8), "a document in RTFD"), (Array("{\\rtf".utf8), "a document in RTF"),
    ]

    /// Detects the format; throws an error that says what else the bytes may be.
    static func detect(_ bytes: UnsafeRawBufferPointer, limits: ArchiveLimits) throws -> ArchiveFormat {
        guard bytes.count <= limits.bytes else {
            throw ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes")
        }
        if let format = ArchiveFormat(detecting: bytes) { return format }
        if bytes.starts(with: Array("bplist".utf8)) {
            throw ArchiveError(.unsupported, "a binary property list of a version other than 0")
        }
        if TypedStreamHeader.begins(bytes, version: TypedStreamHeader.oldVersion) {
            throw ArchiveError(.unsupported, "a typedstream of version 3, which is not read")
        }
        try TypedStreamHeader.expectWhole(bytes)
        if let other = otherFiles.first(where: { bytes.starts(with: $0.beginning) }) {
            throw ArchiveError(.unsupported, "\(other.name), not an archive of Apple's archivers or this library's")
        }
        switch bytes.first(where: { $0 != 0x20 && !(0x09...0x0D).contains($0) }) {
        case nil: throw ArchiveError(.truncated, "an empty file, not an archive")
        case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "<"), UInt8(ascii: "\""), UInt8(ascii: "/"),
            UInt8(ascii: "["):
            throw ArchiveError(
                .unsupported,
                "text, perhaps JSON, which is not read, or a property list in the old (OpenStep) style: convert it to XML first"
            )
        default: throw ArchiveError(.corrupt, "not an archive, or of a version this library does not know")
        }
    }
}

extension ArchiveFormat {
    /// Throws for the formats of Apple's older archivers, which the coders and `ArchivedGraph` do not read or write.
    func expectCurrent() throws {
        if self == .typedstream {
            throw ArchiveError(.unsupported, "a typedstream, which has no keys: TypedStreamGraph reads and writes it")
        }
        if self == .nibArchive {
            throw ArchiveError(.unsupported, "a NIBArchive, which only NIBArchiveGraph reads, and nothing writes")
        }
    }
}

extension PlistTable {
    /// Opens and checks a property list, binary or XML.
    static func open(_ owner: ArchiveBytes, _ format: ArchiveFormat, limits: ArchiveLimits) throws -> PlistTable {
        try format.expectCurrent()
        if format == .binary { return try PlistTable(owner.bytes, owner: owner, limits: limits) }
        let binary = try XMLPlistReader.binary(owner.bytes, limits: limits)
        return try PlistTable(binary.bytes, owner: binary, limits: limits)
    }
}
