/// UTF-16 text converted to UTF-8.
///
/// An unpaired surrogate is encoded like a character, in three bytes. Only the reader of XML property lists reads these
/// bytes, and it knows this form.
struct UTF16Text {
    private var sink = ByteSink()

    var bytes: UnsafeRawBufferPointer { sink.bytes }

    func deallocate() { sink.deallocate() }

    /// Nil if the bytes do not begin with a byte order mark of UTF-16.
    static func utf8(_ bytes: UnsafeRawBufferPointer) throws -> UTF16Text? {
        guard bytes.count >= 2 else { return nil }
        let isBig = bytes[0] == 0xFE && bytes[1] == 0xFF
        guard isBig || (bytes[0] == 0xFF && bytes[1] == 0xFE) else { return nil }
        guard bytes.count & 1 == 0 else {
            throw ArchiveError(.truncated, "text in UTF-16 that ends within a character")
        }
        var text = UTF16Text()
        text.sink.reserve(bytes.count)
        func unit(_ at: Int) -> UInt32 {
            let unit = bytes.loadUnaligned(fromByteOffset: at, as: UInt16.self)
            return UInt32(isBig ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit))
        }
        var at = 2
        while at < bytes.count {
            var scalar = unit(at)
            at += 2
            if scalar & 0xFC00 == 0xD800, at < bytes.count, unit(at) & 0xFC00 == 0xDC00 {
                scalar = 0x10000 + ((scalar & 0x3FF) << 10) + (unit(at) & 0x3FF)
                at += 2
            }
            text.append(scalar)
        }
        return text
    }

    private mutating func append(_ scalar: UInt32) {
        func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F) }
        switch scalar {
        case 0..<0x80: sink.byte(UInt8(scalar))
        case 0..<0x800:
            sink.byte(UInt8(0xC0 | scalar >> 6))
            sink.byte(tail(0))
        case 0..<0x10000:
            sink.byte(UInt8(0xE0 | scalar >> 12))
            sink.byte(tail(6))
            sink.byte(tail(0))
        default:
            sink.byte(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
            sink.byte(tail(12))
            sink.byte(tail(6))
            sink.byte(tail(0))
        }
    }
}
