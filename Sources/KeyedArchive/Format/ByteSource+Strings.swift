extension ByteSource {
    /// Consumes the next byte if it is the tag of a short string; returns the string's length.
    @inline(__always)
    mutating func takeShortString() -> Int? {
        guard let tag = next, tag & 0xC0 == Tag.firstString else { return nil }
        seek(to: position &+ 1)
        return Int(tag & 0x3F)
    }

    /// Consumes the next byte if it is an integer below 128, and returns that.
    @inline(__always)
    mutating func takeSmall() -> UInt8? {
        guard let tag = next, tag < 0x80 else { return nil }
        seek(to: position &+ 1)
        return tag
    }

    /// Reads a tagged string.
    @inline(__always)
    mutating func stringValue(_ limits: ArchiveLimits) throws -> String { try text(try stringLength(limits)) }

    /// Moves past a tagged string; throws as `stringValue` would.
    mutating func skipString(_ limits: ArchiveLimits) throws { try skipText(try stringLength(limits)) }

    /// Reads the tag and length of a string.
    @inline(__always)
    private mutating func stringLength(_ limits: ArchiveLimits) throws -> Int {
        if let length = takeShortString() { return length }
        let tag = try byte()
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
