import KeyedArchive

/// Reads the header and tables of a frame.
///
/// Every read is checked against the remaining bytes.
package struct WireReader {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    private static var cutOff: ProtocolViolation {
        ProtocolViolation(.malformed, "a frame ends in the middle of a field")
    }

    mutating func byte() throws(ProtocolViolation) -> UInt8 {
        guard offset < bytes.count else { throw Self.cutOff }
        let value = bytes[offset]
        offset += 1
        return value
    }

    /// Skips that many bytes if they are all zero, and returns whether they are.
    mutating func skipZeros(_ count: Int) -> Bool {
        guard remaining >= count else { return false }
        for index in offset..<(offset + count) where bytes[index] != 0 { return false }
        offset += count
        return true
    }

    @inline(__always)
    mutating func number() throws(ProtocolViolation) -> UInt64 {
        // Most numbers are small.
        if offset < bytes.count, bytes[offset] < 0x80 {
            defer { offset += 1 }
            return UInt64(bytes[offset])
        }
        return try longNumber()
    }

    @inline(never)
    private mutating func longNumber() throws(ProtocolViolation) -> UInt64 {
        do throws(Varint.Fault) {
            guard let base = bytes.baseAddress else { throw .cutOff }
            return try Varint.read(base, at: &offset, end: bytes.count)
        } catch {
            switch error {
            case .cutOff: throw Self.cutOff
            case .tooLarge: throw ProtocolViolation(.malformed, "a number does not fit in 64 bits")
            }
        }
    }

    @inline(__always)
    mutating func number32() throws(ProtocolViolation) -> UInt32 {
        let value = try number()
        guard let narrow = UInt32(exactly: value) else {
            throw ProtocolViolation(.malformed, "a number does not fit in 32 bits")
        }
        return narrow
    }

    /// Reads a count of items that take at least `minimum` bytes each in this frame.
    mutating func count(minimum: Int) throws(ProtocolViolation) -> Int {
        let value = try number()
        guard value <= UInt64(remaining / max(1, minimum)) else {
            throw ProtocolViolation(.malformed, "a count is larger than the frame")
        }
        return Int(value)
    }

    mutating func raw(_ length: Int) throws(ProtocolViolation) -> UnsafeRawBufferPointer {
        guard length >= 0, length <= remaining else {
            throw ProtocolViolation(.malformed, "a length is larger than the frame")
        }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        offset += length
        return slice
    }

    /// The bytes read since an offset.
    func bytes(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<offset]) }

    mutating func text(limit: Int) throws(ProtocolViolation) -> String { try Self.text(utf8(limit: limit)) }

    /// The bytes of a text, which are not checked.
    mutating func utf8(limit: Int) throws(ProtocolViolation) -> UnsafeRawBufferPointer {
        let length = try count(minimum: 1)
        guard length <= limit else {
            throw ProtocolViolation(.malformed, "a name or text is longer than the \(limit) bytes allowed")
        }
        return try raw(length)
    }

    static func text(_ utf8: UnsafeRawBufferPointer) throws(ProtocolViolation) -> String {
        guard let text = String(validating: utf8, as: UTF8.self) else {
            throw ProtocolViolation(.malformed, "a name or text is not valid UTF-8")
        }
        return text
    }

    mutating func objectID() throws(ProtocolViolation) -> ObjectID {
        let slot = try number32()
        let generation = try number32()
        return ObjectID(slot: slot, generation: generation)
    }

    /// Whether the rest is a body without a value.
    var isWithoutValue: Bool { EmptyMessage.isBody(UnsafeRawBufferPointer(rebasing: bytes[offset...])) }

    /// Checks that the frame ends here.
    func end() throws(ProtocolViolation) {
        guard offset == bytes.count else {
            throw ProtocolViolation(.malformed, "a frame is longer than its content")
        }
    }
}
