/// The memory in which a frame is assembled.
///
/// It is not an array, so that writing costs no uniqueness check. The memory is reused for the next frame.
package struct PrefixBuffer: ~Copyable {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    package init() {}

    deinit {
        base?.deallocate()
    }

    /// The bytes written since `reset()`.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }

    /// Starts the next frame.
    ///
    /// Frees the memory if it is more than the given number of bytes.
    mutating func reset(keeping most: Int = 16_384) {
        count = 0
        if capacity > most {
            base?.deallocate()
            base = nil
            capacity = 0
        }
    }

    @inline(__always)
    mutating func append(byte: UInt8) {
        reserve(1)
        base!.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// Writes an unsigned number in groups of seven bits, lowest first.
    ///
    /// The top bit is set if more groups follow.
    @inline(__always)
    mutating func append(_ value: UInt64) {
        if value < 0x80 { return append(byte: UInt8(truncatingIfNeeded: value)) }
        appendLong(value)
    }

    private mutating func appendLong(_ value: UInt64) {
        reserve(10)
        var rest = value
        while rest >= 0x80 {
            base!.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            count += 1
            rest >>= 7
        }
        base!.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        count += 1
    }

    mutating func append(_ value: UInt32) {
        append(UInt64(value))
    }

    mutating func append(_ value: Int) {
        append(UInt64(value))
    }

    mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        reserve(bytes.count)
        (base! + count).copyMemory(from: start, byteCount: bytes.count)
        count += bytes.count
    }

    /// Writes the length in bytes, then the text in UTF-8.
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            append(utf8.count)
            append(contentsOf: UnsafeRawBufferPointer(utf8))
        }
    }

    /// Writes the body of a `Goodbye`.
    ///
    /// - Parameter entered: The number of the peer's last frame that was entered.
    mutating func appendGoodbye(entered: UInt64, _ reason: GoodbyeReason, _ text: String) {
        append(entered)
        append(reason.rawValue)
        append(text.cut(toBytes: 1_024))
    }

    mutating func append(_ id: ObjectID) {
        append(id.slot)
        append(id.generation)
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if count + more > capacity { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(64, max(capacity * 2, count + more))
        let fresh = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        if let base {
            fresh.copyMemory(from: base, byteCount: count)
            base.deallocate()
        }
        base = fresh
        capacity = larger
    }
}
