/// Bytes that an object keeps in memory: a part of a read buffer, or a whole large message.
///
/// A slice of a read buffer keeps the whole buffer. To keep bytes for long, copy them with a `ByteBatch`.
package struct ByteSlice: @unchecked Sendable {  // The bytes are never written after the slice is made.
    package let owner: AnyObject
    package let bytes: UnsafeRawBufferPointer

    package init(owner: AnyObject, bytes: UnsafeRawBufferPointer) {
        self.owner = owner
        self.bytes = bytes
    }
}

/// Copies runs of bytes that arrive together.
///
/// The first run gets memory of its own size; small ones after it share blocks.
///
/// A block is freed with the last run in it, so runs that are kept longer than others belong in another batch.
package struct ByteBatch {
    /// With its header, a block is still of a size that `malloc` serves quickly.
    private static let blockSize = 960
    /// A larger run gets memory of its own.
    private static let largestShared = 256

    private var block: ByteBlock?
    /// The begin of the free part of the block, and its size.
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

    /// Begins another batch: runs copied from now on share no memory with earlier ones.
    package mutating func end() {
        guard !isEmpty else { return }
        self = ByteBatch()
    }
}

/// Memory from `malloc`, in one block with the object that owns it.
///
/// A large block takes only address space until it is filled. Raw memory would come from `posix_memalign`, which is
/// slow for small blocks.
package final class ByteBlock: ManagedBuffer<UnsafeMutableRawBufferPointer, UInt8> {
    package static func make(count: Int) -> ByteBlock {
        let made = create(minimumCapacity: count) { block in
            block.withUnsafeMutablePointerToElements { UnsafeMutableRawBufferPointer(start: $0, count: count) }
        }
        return unsafeDowncast(made, to: ByteBlock.self)
    }

    package var bytes: UnsafeMutableRawBufferPointer { header }
}
