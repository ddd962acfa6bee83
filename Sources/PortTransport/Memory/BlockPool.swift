internal import CPortShims

extension MessageBlock {
    /// Memory for a message of `count` bytes; nil if the system has too little.
    package static func make(count: Int) -> MessageBlock? {
        count < BlockPool.smallest ? AllocatedBlock(count: count) : PooledBlock(count: count)
    }
}

/// A block whose memory goes to the pool when neither the connection nor a decoded value uses it any more.
private final class PooledBlock: MessageBlock {
    private let memory: BlockPool.Memory

    init?(count: Int) {
        guard let memory = BlockPool.shared.take(count) else { return nil }
        self.memory = memory
        super.init(UnsafeMutableRawBufferPointer(start: memory.start, count: count))
    }

    deinit { BlockPool.shared.giveBack(memory) }
}

/// Keeps the memory of large messages for the next ones: with fresh memory, page faults take most of the time of a
/// message.
///
/// Memory that is not used again goes back to the system after a second or two.
final class BlockPool: @unchecked Sendable {  // `lock` protects `state`.
    // Used by one thread at a time: the thread that has its message, or a thread that has the pool's lock.
    struct Memory: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        let size: Int
    }

    private struct State {
        /// The longest unused first.
        var free: [Memory] = []
        var bytes = 0
        /// The number of blocks that were free at the last tick and were not taken since.
        var unused = 0
        var isWatched = false
    }

    static let shared = BlockPool(isTimed: true)
    /// Smaller messages get memory from the allocator, which keeps blocks of that size by itself.
    static let smallest = 256 << 10
    /// The most bytes that are kept: 64 MiB, and the rounding of one message of that size.
    static let mostBytes = 66 << 20
    private static let grain = 64 << 10
    private static let hugePage = 2 << 20
    private static let pause = Duration.seconds(1)

    /// In a forked child the lock stays in the state that it had when the parent forked.
    private let forkCount = port_fork_count()
    private let lock = Lock()
    /// Whether a timer calls `tick`; not in some tests.
    private let isTimed: Bool
    @exclusivity(unchecked) private var state = State()

    init(isTimed: Bool) { self.isTimed = isTimed }

    private var isUsable: Bool { forkCount == port_fork_count() }

    /// Bytes that are free.
    var freeBytes: Int { isUsable ? lock.withLock { state.bytes } : 0 }

    /// The free block that fits best, or a fresh one; nil if the system has too little memory.
    func take(_ count: Int) -> Memory? {
        let grain = count < Self.hugePage ? Self.grain : Self.hugePage
        let (sum, overflow) = count.addingReportingOverflow(grain - 1)
        guard !overflow else { return nil }
        let size = sum / grain * grain
        if isUsable, let known = lock.withLock({ takeFree(size) }) { return known }
        return port_block_make(size).map { Memory(start: $0, size: size) }
    }

    private func takeFree(_ size: Int) -> Memory? {
        var best: Int?
        // A small message does not take a large block, because a value may keep the block for long.
        for index in state.free.indices where (size...2 * size).contains(state.free[index].size) {
            if best.map({ state.free[index].size <= state.free[$0].size }) ?? true { best = index }
        }
        guard let best else { return nil }
        state.unused = min(state.unused, best)
        state.bytes -= state.free[best].size
        return state.free.remove(at: best)
    }

    func giveBack(_ memory: Memory) {
        guard isUsable, memory.size <= Self.mostBytes else { return port_block_free(memory.start, memory.size) }
        var surplus: [Memory] = []
        let starts = lock.withLock {
            state.free.append(memory)
            state.bytes += memory.size
            while state.bytes > Self.mostBytes { surplus.append(removeFirst()) }
            defer { state.isWatched = isTimed }
            return isTimed && !state.isWatched
        }
        for memory in surplus { port_block_free(memory.start, memory.size) }
        if starts { watch() }
    }

    private func removeFirst() -> Memory {
        let first = state.free.removeFirst()
        state.bytes -= first.size
        state.unused = max(0, state.unused - 1)
        return first
    }

    /// Calls `tick` after a pause, only while a block is free, so that an idle process is not woken.
    private func watch() {
        guard let loop = try? EventLoop.started() else { return lock.withLock { state.isWatched = false } }
        _ = loop.addTimer(after: Self.pause) { [self] in tick() }
    }

    func tick() {
        guard isUsable else { return }
        var surplus: [Memory] = []
        let goesOn = lock.withLock {
            for _ in 0..<state.unused { surplus.append(removeFirst()) }
            state.unused = state.free.count
            state.isWatched = isTimed && !state.free.isEmpty
            return state.isWatched
        }
        for memory in surplus { port_block_free(memory.start, memory.size) }
        if goesOn { watch() }
    }
}
