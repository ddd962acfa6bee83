internal import CPortShims

/// Memory that frames are received into and parsed in, from a pool.
///
/// Frames kept by `InboundFrame.retain` hold a reference: a buffer is written from its start again only while none
/// is held.
final class ReadBuffer: @unchecked Sendable {  // The one reader writes; others only read what was written before.
    /// Two of the largest frames, so that a frame begun in the first half always ends in the buffer.
    static let size = 160 << 10

    let memory: UnsafeMutableRawPointer

    init() { memory = ReadBufferPool.shared.take() }

    deinit { ReadBufferPool.shared.giveBack(memory) }
}

/// Free blocks of `ReadBuffer.size`: a fresh block of that size costs a page fault for each 4 KiB.
private final class ReadBufferPool: @unchecked Sendable {  // `lock` protects `free`.
    static let shared = ReadBufferPool()
    private static let bound = 16

    /// In a forked child the lock stays in the state that it had when the parent forked.
    private let forkCount = port_fork_count()
    private let lock = Lock()
    private var free: [UnsafeMutableRawPointer] = []

    func take() -> UnsafeMutableRawPointer {
        if forkCount == port_fork_count(), let block = lock.withLock({ free.popLast() }) { return block }
        return .allocate(byteCount: ReadBuffer.size, alignment: 16)
    }

    func giveBack(_ block: UnsafeMutableRawPointer) {
        guard forkCount == port_fork_count() else { return block.deallocate() }
        let kept = lock.withLock {
            guard free.count < Self.bound else { return false }
            free.append(block)
            return true
        }
        if !kept { block.deallocate() }
    }
}
