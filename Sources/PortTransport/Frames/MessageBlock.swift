#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The memory of one incoming large message.
///
/// A peer chooses its size, so allocating it may fail without ending the process.
package class MessageBlock {
    package let bytes: UnsafeMutableRawBufferPointer

    init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }
}

/// A block from the allocator.
final class AllocatedBlock: MessageBlock {
    /// Nil if the system has too little memory.
    init?(count: Int) {
        guard let memory = malloc(max(1, count)) else { return nil }
        super.init(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }

    deinit { free(bytes.baseAddress) }
}
