/// The bytes of a typedstream as numbers and strings.
struct TypedStreamSource {
    private var source: ByteSource
    let isBigEndian: Bool
    /// Whether numbers are noted as they are stored.
    var notes = false
    /// The numbers that were read since the list was emptied; nil for the bits of a floating-point number.
    var noted: [TypedStreamNumber?] = []

    /// - Parameter source: The bytes behind the header.
    init(_ source: ByteSource, isBigEndian: Bool) {
        self.source = source
        self.isBigEndian = isBigEndian
    }

    var position: Int { source.position }
    var remaining: Int { source.remaining }
    /// The next byte; nil at the end.
    var next: UInt8? { source.next }

    mutating func seek(to position: Int) { source.seek(to: position) }

    /// The byte at a position, which is in range.
    func byte(at position: Int) -> UInt8 { source.base.load(fromByteOffset: position, as: UInt8.self) }

    mutating func byte(_ what: StaticString) throws -> UInt8 {
        guard source.remaining > 0 else { throw Self.ended(what) }
        return try source.byte()
    }

    /// Consumes the next byte if it is that tag.
    mutating func take(_ tag: UInt8) -> Bool { source.take(tag) }

    static func ended(_ what: StaticString) -> ArchiveError {
        ArchiveError(.truncated, "expected \(what), found the end")
    }

    /// An integer with its form.
    mutating func number(_ what: StaticString) throws -> TypedStreamNumber {
        let number = try storedNumber(what)
        if notes { noted.append(number) }
        return number
    }

    private mutating func storedNumber(_ what: StaticString) throws -> TypedStreamNumber {
        guard let head = source.next else { throw Self.ended(what) }
        guard TypedStreamTag.all.contains(head) else {
            _ = try source.byte()
            return TypedStreamNumber(Int64(Int8(bitPattern: head)), .head)
        }
        switch head {
        case TypedStreamTag.short:
            return TypedStreamNumber(Int64(Int16(bitPattern: try tagged(UInt16.self, what))), .short)
        case TypedStreamTag.word:
            return TypedStreamNumber(Int64(Int32(bitPattern: try tagged(UInt32.self, what))), .word)
        case TypedStreamTag.long:
            return TypedStreamNumber(Int64(bitPattern: try tagged(UInt64.self, what)), .long)
        default: throw ArchiveError(.corrupt, "expected \(what), found \(Self.name(head))")
        }
    }

    /// The bits of a floating-point number of a type with these bits, behind their tag.
    mutating func bits<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws -> T {
        if notes { noted.append(nil) }
        return try tagged(type, "the bits of a number")
    }

    /// A tag and an unsigned number; moves only if both are there.
    private mutating func tagged<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type, _ what: StaticString
    ) throws -> T {
        guard source.remaining > MemoryLayout<T>.size else { throw Self.ended(what) }
        _ = try source.byte()
        let value = try source.fixed(type)
        return isBigEndian ? value.byteSwapped : value
    }

    /// A length and so many bytes; nil if the tag for nil is there.
    mutating func unshared(_ what: StaticString, limit: Int) throws -> Range<Int>? {
        if source.take(TypedStreamTag.null) { return nil }
        let start = source.position
        let length = try number(what).value
        guard length >= 0 && length <= Int64(source.remaining) else {
            let left = source.remaining
            source.seek(to: start)
            throw ArchiveError(
                length < 0 ? .corrupt : .truncated,
                "expected \(what), found the length \(length) where \(left) bytes are left")
        }
        guard length <= Int64(limit) else { throw ArchiveError(.limit, "a string of more than \(limit) bytes") }
        return try skip(Int(length), what)
    }

    /// The bytes of a string that was read before, whose length is at a position.
    mutating func string(at position: Int) throws -> Range<Int> {
        let here = source.position
        source.seek(to: position)
        let length = try storedNumber("a length").value
        let start = source.position
        source.seek(to: here)
        return start..<start + Int(length)
    }

    func hasZero(in range: Range<Int>) -> Bool {
        for position in range where byte(at: position) == 0 { return true }
        return false
    }

    mutating func skip(_ count: Int, _ what: StaticString) throws -> Range<Int> {
        let start = source.position
        guard count <= source.remaining else { throw Self.ended(what) }
        source.seek(to: start + count)
        return start..<start + count
    }

    /// A tag in words.
    static func name(_ tag: UInt8) -> String {
        switch tag {
        case TypedStreamTag.bits: "the tag of a floating-point number (0x83)"
        case TypedStreamTag.new: "the tag of something new (0x84)"
        case TypedStreamTag.null: "the tag of nil (0x85)"
        case TypedStreamTag.end: "the tag of an object's end (0x86)"
        default: "the byte 0x\(String(tag, radix: 16)), which is no tag"
        }
    }
}
