import KeyedArchive

/// The memory in which a frame is assembled, which is reused for the next frame.
package struct PrefixBuffer: ~Copyable {
    private var sink = ByteSink(capacity: 0)

    package init() {}

    deinit { sink.deallocate() }

    /// The bytes written since `reset()`.
    var bytes: UnsafeRawBufferPointer { sink.bytes }

    var count: Int { sink.count }

    /// Starts the next frame.
    ///
    /// Frees the memory if it is more than the given number of bytes.
    mutating func reset(keeping most: Int = 16_384) { sink.reset(keeping: most) }

    /// Forgets what was written behind the given number of bytes.
    mutating func truncate(to count: Int) { sink.count = count }

    @inline(__always)
    mutating func append(byte: UInt8) {
        // Calls of another module are not inline, and almost everything is one byte.
        guard sink.count < sink.capacity else { return sink.byte(byte) }
        sink.base.storeBytes(of: byte, toByteOffset: sink.count, as: UInt8.self)
        sink.count &+= 1
    }

    @inline(__always)
    mutating func append(_ value: UInt64) {
        if value < 0x80 { append(byte: UInt8(truncatingIfNeeded: value)) } else { sink.varint(value) }
    }

    mutating func append(_ value: UInt32) { sink.varint(UInt64(value)) }

    mutating func append(_ value: Int) { sink.varint(UInt64(value)) }

    mutating func append(contentsOf bytes: UnsafeRawBufferPointer) { sink.append(bytes) }

    /// Writes the length in bytes, then the text in UTF-8.
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            append(utf8.count)
            append(contentsOf: UnsafeRawBufferPointer(utf8))
        }
    }

    mutating func append(_ id: ObjectID) {
        append(id.slot)
        append(id.generation)
    }
}
