extension ByteSource {
    /// A string with its tag.
    @inline(__always)
    mutating func stringValue(_ limits: ArchiveLimits) throws -> String { try text(try stringLength(limits)) }

    /// Moves behind a string with its tag, which `stringValue` would have taken.
    mutating func skipString(_ limits: ArchiveLimits) throws { try skipText(try stringLength(limits)) }

    /// The tag and length of a string.
    @inline(__always)
    private mutating func stringLength(_ limits: ArchiveLimits) throws -> Int {
        let tag = try byte()
        if tag & 0xC0 == Tag.firstString { return Int(tag & 0x3F) }
        guard tag == Tag.string else {
            throw ArchiveError(.typeMismatch, "expected String, found \(Tag.describe(tag))")
        }
        let length = try length()
        guard length <= limits.string else {
            throw ArchiveError(.limit, "a string of more than \(limits.string) bytes")
        }
        return length
    }
}
