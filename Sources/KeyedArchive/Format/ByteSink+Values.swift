/// Values with their tags.
extension ByteSink {
    /// A reference to an object of the archive.
    @inline(__always)
    mutating func reference(_ number: UInt64) {
        byte(Tag.reference)
        varint(number)
    }

    /// A tag with a count.
    @inline(__always)
    mutating func counted(_ tag: UInt8, _ count: Int) {
        byte(tag)
        varint(UInt64(count))
    }

    @inline(__always)
    mutating func integer(_ value: Int64) {
        if UInt64(bitPattern: value) < 0x80 {
            byte(UInt8(truncatingIfNeeded: value))
        } else {
            byte(Tag.integer)
            zigzag(value)
        }
    }

    @inline(__always)
    mutating func unsigned(_ value: UInt64) {
        if let small = Int64(exactly: value) {
            integer(small)
        } else {
            byte(Tag.unsigned)
            varint(value)
        }
    }

    mutating func wide(_ value: Int128) {
        if let small = Int64(exactly: value) { return integer(small) }
        if let large = UInt64(exactly: value) { return unsigned(large) }
        byte(Tag.int128)
        fixed(value)
    }

    mutating func wide(_ value: UInt128) {
        if let small = UInt64(exactly: value) { return unsigned(small) }
        byte(Tag.uint128)
        fixed(value)
    }

    @inline(__always)
    mutating func boolean(_ value: Bool) { byte(value ? Tag.isTrue : Tag.isFalse) }

    @inline(__always)
    mutating func double(_ value: Double, tag: UInt8 = Tag.double) {
        byte(tag)
        fixed(value.bitPattern)
    }

    @inline(__always)
    mutating func float(_ value: Float) {
        byte(Tag.float)
        fixed(value.bitPattern)
    }

    @inline(__always)
    mutating func string(_ value: String) {
        // A copy counts a reference, which only strings that are not stored as UTF-8 need.
        if value.utf8.withContiguousStorageIfAvailable({ string(utf8: UnsafeRawBufferPointer($0)) }) != nil { return }
        var copy = value
        copy.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// A string whose bytes are valid UTF-8.
    @inline(__always)
    mutating func string(utf8: UnsafeRawBufferPointer) {
        let length = utf8.count
        reserve(length &+ 11)
        if length < 64 {
            base.storeBytes(of: Tag.firstString | UInt8(length), toByteOffset: count, as: UInt8.self)
            count &+= 1
        } else {
            counted(Tag.string, length)
        }
        if let start = utf8.baseAddress { (base + count).copyMemory(from: start, byteCount: length) }
        count &+= length
    }

    /// A decimal: its digits with their sign, and a power of ten.
    mutating func decimal(_ digits: String, exponent: Int64) {
        byte(Tag.decimal)
        zigzag(exponent)
        string(digits)
    }

    /// The header of scalars that are stored as in memory.
    mutating func packed(_ kind: PackedKind, _ count: Int) {
        byte(Tag.packed)
        counted(kind.rawValue, count)
    }
}
