/// Bytes added at one end and taken from the other, in one block of memory.
struct ByteQueue: ~Copyable {
    /// Room for a few small frames.
    private static let smallest = 56

    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var head = 0
    private(set) var count = 0

    init() {}

    deinit { memory?.deallocate() }

    var hasMemory: Bool { capacity > 0 }

    /// The first byte.
    var start: UnsafeMutableRawPointer? { memory.map { $0 + head } }

    /// Makes room for `size` bytes at the end, which the caller fills at once, and returns their place.
    @inline(__always)
    mutating func extend(_ size: Int) -> UnsafeMutableRawPointer {
        if head &+ count &+ size > capacity { grow(size) }
        // `grow` has allocated memory.
        let place = memory.unsafelyUnwrapped + (head &+ count)
        count &+= size
        return place
    }

    mutating func removeFirst(_ size: Int) {
        head += size
        count -= size
        if count == 0 { head = 0 }
    }

    mutating func removeAll() {
        head = 0
        count = 0
    }

    /// Frees the memory of an empty queue that has more than `bound` bytes.
    mutating func trim(to bound: Int) {
        guard count == 0, capacity > bound else { return }
        memory?.deallocate()
        memory = nil
        capacity = 0
    }

    @inline(never)
    private mutating func grow(_ size: Int) {
        // The first two sizes fit the allocator's, with its header.
        var larger =
            switch capacity {
            case 0: Self.smallest
            case Self.smallest: 120
            case 120: 1 << 10
            default: max(capacity * 2, 16 << 10)
            }
        while larger < count + size { larger *= 2 }
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        if let memory {
            moved.copyMemory(from: memory + head, byteCount: count)
            memory.deallocate()
        }
        memory = moved
        capacity = larger
        head = 0
    }
}
