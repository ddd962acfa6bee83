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
        let memory = ByteBlock.make(count: bytes.count)
        memory.bytes.copyMemory(from: bytes)
        return ByteSlice(owner: memory, bytes: UnsafeRawBufferPointer(memory.bytes))
    }
}

/// Memory of `malloc` in one piece with the object that keeps it.
///
/// Large blocks cost address space only until they are filled. Raw memory by itself would come from `posix_memalign`, which
/// has no quick way for small ones.
package final class ByteBlock: ManagedBuffer<UnsafeMutableRawBufferPointer, UInt8> {
    package static func make(count: Int) -> ByteBlock {
        let made = create(minimumCapacity: count) { block in
            block.withUnsafeMutablePointerToElements { UnsafeMutableRawBufferPointer(start: $0, count: count) }
        }
        return unsafeDowncast(made, to: ByteBlock.self)
    }

    package var bytes: UnsafeMutableRawBufferPointer { header }
}
