/// A position in bytes of unknown origin.
///
/// Every read is checked; nothing here traps.
struct ByteSource {
    let base: UnsafeRawPointer
    private(set) var position: Int
    let end: Int

    @inline(__always)
    init(base: UnsafeRawPointer, position: Int, end: Int) {
        self.base = base
        self.position = position
        self.end = end
    }

    init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
        // An empty buffer may have no address; nothing is read from this stand-in.
        base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped
        self.position = position
        end = bytes.count
    }

    @inline(__always)
    var remaining: Int { end &- position }

    @inline(never)
    static func truncated() -> ArchiveError { ArchiveError(.truncated, "the archive ends too early") }

    /// Throws unless all bytes were read.
    @inline(__always)
    func expectEnd() throws {
        if position != end { throw Self.leftOver() }
    }

    @inline(never)
    static func leftOver() -> ArchiveError { ArchiveError(.corrupt, "bytes after the values") }

    /// The next byte, without moving past it; nil at the end.
    @inline(__always)
    var next: UInt8? { position < end ? base.load(fromByteOffset: position, as: UInt8.self) : nil }

    /// The next byte, without moving past it.
    @inline(__always)
    func peek() throws -> UInt8 {
        guard position < end else { throw Self.truncated() }
        return base.load(fromByteOffset: position, as: UInt8.self)
    }

    /// Consumes the next byte if it equals `byte`; returns whether it did.
    @inline(__always)
    mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, base.load(fromByteOffset: position, as: UInt8.self) == byte else { return false }
        position &+= 1
        return true
    }

    /// Goes to a position within the bytes.
    @inline(__always)
    mutating func seek(to position: Int) { self.position = position }

    /// The source at another position.
    @inline(__always)
    func at(_ position: Int) -> ByteSource { ByteSource(base: base, position: position, end: end) }

    /// The next bytes, in place.
    @inline(__always)
    mutating func bytes(_ count: Int) throws -> UnsafeRawBufferPointer {
        guard count <= remaining else { throw Self.truncated() }
        let bytes = UnsafeRawBufferPointer(start: base + position, count: count)
        position &+= count
        return bytes
    }

    @inline(__always)
    mutating func byte() throws -> UInt8 {
        guard position < end else { throw Self.truncated() }
        let byte = base.load(fromByteOffset: position, as: UInt8.self)
        position &+= 1
        return byte
    }

    @inline(__always)
    mutating func fixed<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws -> T {
        guard remaining >= MemoryLayout<T>.size else { throw Self.truncated() }
        let value = base.loadUnaligned(fromByteOffset: position, as: T.self)
        position &+= MemoryLayout<T>.size
        return T(littleEndian: value)
    }

    @inline(__always)
    mutating func varint() throws -> UInt64 {
        guard let first = next, first < 0x80 else {
            let long = try longVarint()
            position = long.end
            return long.value
        }
        position &+= 1
        return UInt64(first)
    }

    /// Does not change the source itself, so that callers may keep theirs in registers.
    @inline(never)
    private func longVarint() throws -> (value: UInt64, end: Int) {
        var position = position
        do {
            return (try Varint.read(base, at: &position, end: end), position)
        } catch {
            switch error {
            case .cutOff: throw Self.truncated()
            case .tooLarge: throw ArchiveError(.corrupt, "a number of more than 64 bits")
            }
        }
    }

    @inline(__always)
    mutating func zigzag() throws -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads a length in bytes; throws if fewer are left.
    @inline(__always)
    mutating func length() throws -> Int {
        let length = try varint()
        guard length <= UInt64(remaining) else { throw Self.truncated() }
        return Int(length)
    }

    /// Reads a count of elements of at least `least` bytes each; throws if bytes are missing or it exceeds `limit`.
    mutating func count(eachAtLeast least: Int, limit: Int, _ what: String) throws -> Int {
        let count = try varint()
        guard count <= UInt64(remaining / least) else { throw Self.truncated() }
        guard Int(count) <= limit else { throw ArchiveError(.limit, "more than \(limit) \(what)") }
        return Int(count)
    }

    /// Reads a count of elements that take at least one byte each.
    mutating func elementCount(_ limits: ArchiveLimits) throws -> Int {
        try count(eachAtLeast: 1, limit: limits.collection, "elements")
    }

    /// Reads a count of pairs of key and value.
    mutating func pairCount(_ limits: ArchiveLimits) throws -> Int {
        try count(eachAtLeast: 2, limit: limits.collection, "elements")
    }

    @inline(__always)
    mutating func advance(_ bytes: Int) throws {
        guard bytes <= remaining else { throw Self.truncated() }
        position &+= bytes
    }

    @inline(__always)
    mutating func text(_ length: Int) throws -> String {
        guard length <= remaining else { throw Self.truncated() }
        let utf8 = UnsafeRawBufferPointer(start: base + position, count: length)
        let text: String
        if !isASCII(length) {
            text = try Self.valid(utf8)
        } else if length <= Self.smallString {
            text = smallText(length)
        } else {
            // ASCII needs no repair.
            text = String(decoding: utf8, as: UTF8.self)
        }
        position &+= length
        return text
    }

    /// The most bytes of a string that is stored inline.
    private static let smallString = 15

    /// A small string of the next `length` bytes; the caller has checked that they are present and ASCII.
    @inline(__always)
    private func smallText(_ length: Int) -> String {
        let from = base + position
        return String(unsafeUninitializedCapacity: length) { target in
            let to = UnsafeMutableRawPointer(target.baseAddress.unsafelyUnwrapped)
            if length >= 8 {
                // The two words may overlap.
                let end = length &- 8
                to.storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
                to.storeBytes(
                    of: from.loadUnaligned(fromByteOffset: end, as: UInt64.self), toByteOffset: end, as: UInt64.self)
            } else {
                for offset in 0..<length {
                    to.storeBytes(
                        of: from.load(fromByteOffset: offset, as: UInt8.self), toByteOffset: offset, as: UInt8.self)
                }
            }
            return length
        }
    }

    /// The string for bytes that are not all ASCII; throws if they are not UTF-8.
    ///
    /// Decodes with repair and compares the result with the bytes: a repaired string always differs. That takes a third
    /// of the time of the validating initializer.
    @inline(never)
    private static func valid(_ utf8: UnsafeRawBufferPointer) throws -> String {
        let text = String(decoding: utf8, as: UTF8.self)
        let isSame =
            text.utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).elementsEqual(utf8) }
            ?? text.utf8.elementsEqual(utf8)
        guard isSame else { throw ArchiveError(.corrupt, "a string is not UTF-8") }
        return text
    }

    /// Moves past a string of `length` bytes; throws if it is not UTF-8.
    mutating func skipText(_ length: Int) throws {
        guard length <= remaining else { throw Self.truncated() }
        if !isASCII(length) { _ = try text(length) } else { position &+= length }
    }

    /// Whether the next bytes, which are present, are all ASCII.
    @inline(__always)
    func isASCII(_ length: Int) -> Bool {
        var bits: UInt64 = 0
        var offset = 0
        while length &- offset >= 8 {
            bits |= base.loadUnaligned(fromByteOffset: position &+ offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < length {
            bits |= UInt64(base.load(fromByteOffset: position &+ offset, as: UInt8.self))
            offset &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }
}
