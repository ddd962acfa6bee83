/// The bytes of a NIBArchive as numbers and strings; all numbers are little-endian.
struct NIBArchiveSource {
    private var source: ByteSource

    init(_ source: ByteSource) { self.source = source }

    var position: Int { source.position }

    mutating func seek(to position: Int) { source.seek(to: position) }

    mutating func byte() throws -> UInt8 { try source.byte() }

    mutating func fixed<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws -> T { try source.fixed(type) }

    /// A number of at most 32 bits: seven bits a byte, lowest first, and the top bit set in the last byte.
    mutating func varint() throws -> Int {
        let start = source
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 35, by: 7) {
            let byte = try source.byte()
            value |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { continue }
            guard value <= UInt64(UInt32.max) else { break }
            return Int(value)
        }
        source = start
        throw ArchiveError(.corrupt, "expected a number of at most 32 bits")
    }

    /// A length and so many bytes.
    mutating func bytes(limit: Int) throws -> Range<Int> {
        let start = source
        let length = try varint()
        guard length <= source.remaining else {
            let left = source.remaining
            source = start
            throw ArchiveError(.truncated, "expected at most \(left) bytes, which are left, found the length \(length)")
        }
        guard length <= limit else { throw ArchiveError(.limit, "a string of more than \(limit) bytes") }
        try source.advance(length)
        return source.position - length..<source.position
    }
}
