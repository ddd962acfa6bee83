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

    /// Consumes a nil if it comes next, in either form; returns whether it did.
    mutating func takeNil() throws -> Bool {
        var source = self
        let tag = try source.byte()
        if tag == Tag.conditional {
            guard try source.fixed(UInt32.self) == .max else { return false }
        } else if tag != Tag.none {
            return false
        }
        self = source
        return true
    }

    /// Reads a tagged string.
    @inline(__always)
    mutating func stringValue(_ limits: ArchiveLimits) throws -> String { try text(try stringLength(limits)) }

    /// Reads the key of a dictionary with strings or integers as keys.
    mutating func keyText(_ limits: ArchiveLimits) throws -> String {
        if let small = takeSmall() { return "\(small)" }
        if take(Tag.integer) { return "\(try zigzag())" }
        if take(Tag.unsigned) { return "\(try varint())" }
        return try stringValue(limits)
    }

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
