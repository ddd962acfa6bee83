/// Bytes that an object keeps in memory: a part of a read buffer, or a whole large message.
///
/// A slice of a read buffer keeps that whole buffer; what has to wait is better `compacted()`.
package struct ByteSlice: @unchecked Sendable {  // The bytes are never written after the slice is made.
    package let owner: AnyObject
    package let bytes: UnsafeRawBufferPointer

    package init(owner: AnyObject, bytes: UnsafeRawBufferPointer) {
        self.owner = owner
        self.bytes = bytes
    }

    /// The same bytes in memory of their own.
    package func compacted() -> ByteSlice {
        let memory = ByteBlock(count: bytes.count)
        memory.bytes.copyMemory(from: bytes)
        return ByteSlice(owner: memory, bytes: UnsafeRawBufferPointer(memory.bytes))
    }
}

/// Memory from `malloc`, freed with its object.
///
/// Large blocks cost address space only until they are filled.
package final class ByteBlock: @unchecked Sendable {  // Whoever made it fills it before it is shared.
    package let bytes: UnsafeMutableRawBufferPointer

    package init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 16)
    }

    deinit { bytes.deallocate() }
}
