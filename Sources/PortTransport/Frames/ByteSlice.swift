/// Bytes that an object keeps in memory: a part of a read buffer, or a whole large message.
///
/// A slice of a read buffer keeps that whole buffer; what has to wait is better copied with a `ByteBatch`.
package struct ByteSlice: @unchecked Sendable {  // The bytes are never written after the slice is made.
    package let owner: AnyObject
    package let bytes: UnsafeRawBufferPointer

    package init(owner: AnyObject, bytes: UnsafeRawBufferPointer) {
        self.owner = owner
        self.bytes = bytes
    }
}

/// Copies runs of bytes that come together: the first into memory of its own size, small ones that follow it one behind
/// the other into blocks they share.
///
/// A block lives as long as one of them: what is kept longer than the others belongs in another batch.
package struct ByteBatch {
    /// With its header still of a size that `malloc` has a quick way for.
    private static let blockSize = 960
    /// What is larger begins no block.
    private static let largestShared = 256

    private var block: ByteBlock?
    /// Where in it the free part begins, and how much that is.
    private var free: UnsafeMutableRawPointer?
    private var left: UInt32 = 0
    /// Nothing was copied since the batch began.
    package private(set) var isEmpty = true

    package init() {}

    package mutating func copy(_ bytes: UnsafeRawBufferPointer) -> ByteSlice {
        guard let block, let free, bytes.count <= left else { return copyIntoNewBlock(bytes) }
        let place = UnsafeMutableRawBufferPointer(start: free, count: bytes.count)
        self.free = free + bytes.count
        left &-= UInt32(truncatingIfNeeded: bytes.count)
        place.copyMemory(from: bytes)
        return ByteSlice(owner: block, bytes: UnsafeRawBufferPointer(place))
    }

    @inline(never)
    private mutating func copyIntoNewBlock(_ bytes: UnsafeRawBufferPointer) -> ByteSlice {
        let isShared = !isEmpty && bytes.count <= Self.largestShared
        let made = ByteBlock.make(count: isShared ? Self.blockSize : bytes.count)
        made.bytes.copyMemory(from: bytes)
        isEmpty = false
        if isShared {
            block = made
            free = made.bytes.baseAddress.map { $0 + bytes.count }
            left = UInt32(Self.blockSize - bytes.count)
        }
        return ByteSlice(owner: made, bytes: UnsafeRawBufferPointer(rebasing: made.bytes[..<bytes.count]))
    }

    /// Begins another batch: what is copied from here on shares no memory with what was.
    package mutating func end() {
        guard !isEmpty else { return }
        self = ByteBatch()
    }
}

/// Memory of `malloc` in one piece with the object that keeps it.
///
/// Large blocks cost address space only until they are filled. Raw memory by itself would come from `posix_memalign`,
/// which has no quick way for small ones.
package final class ByteBlock: ManagedBuffer<UnsafeMutableRawBufferPointer, UInt8> {
    package static func make(count: Int) -> ByteBlock {
        let made = create(minimumCapacity: count) { block in
            block.withUnsafeMutablePointerToElements { UnsafeMutableRawBufferPointer(start: $0, count: count) }
        }
        return unsafeDowncast(made, to: ByteBlock.self)
    }

    package var bytes: UnsafeMutableRawBufferPointer { header }
}
