/// An array in one block of memory, for the tables of a connection.
///
///     | count | capacity | element | element | ...
///
/// It is one word and has no memory before its first element: a connection has many tables and puts a few entries into each.
/// An `Array` takes 24 bytes more for its header, and checks at each change whether its memory is shared.
struct CompactArray<Element>: ~Copyable {
    private struct Header {
        var count: UInt32
        let capacity: UInt32
    }

    /// The allocator hands out no less memory than this.
    private static var smallestBlock: Int { 24 }

    private var block: UnsafeMutablePointer<Header>?

    init() {}

    deinit {
        guard let block else { return }
        Self.elements(of: block).deinitialize(count: Int(block.pointee.count))
        block.deallocate()
    }

    @inline(__always)
    var count: Int { block.map { Int(truncatingIfNeeded: $0.pointee.count) } ?? 0 }

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    @inline(__always)
    var indices: Range<Int> { Range(uncheckedBounds: (0, count)) }

    @inline(__always)
    subscript(index: Int) -> Element {
        _read {
            precondition(indices.contains(index))
            yield Self.elements(of: block.unsafelyUnwrapped)[index]
        }
        _modify {
            precondition(indices.contains(index))
            yield &Self.elements(of: block.unsafelyUnwrapped)[index]
        }
    }

    /// Adds an element at the end.
    ///
    /// - Complexity: O(1) on average.
    @inline(__always)
    mutating func append(_ element: consuming Element) {
        let block = if let block, block.pointee.count < block.pointee.capacity { block } else { grow() }
        (Self.elements(of: block) + Int(truncatingIfNeeded: block.pointee.count)).initialize(to: element)
        block.pointee.count &+= 1
    }

    /// Removes and returns an element; those behind it move up.
    ///
    /// - Complexity: O(*n*).
    mutating func remove(at index: Int) -> Element {
        precondition(indices.contains(index))
        let block = block.unsafelyUnwrapped
        let place = Self.elements(of: block) + index
        let removed = place.move()
        place.moveInitialize(from: place + 1, count: count - index - 1)
        block.pointee.count &-= 1
        return removed
    }

    /// Removes all elements, and frees their memory.
    mutating func removeAll() { self = CompactArray() }

    @inline(__always)
    private static func elements(of block: UnsafeMutablePointer<Header>) -> UnsafeMutablePointer<Element> {
        (UnsafeMutableRawPointer(block) + offset).assumingMemoryBound(to: Element.self)
    }

    /// Where in the block the elements begin.
    @inline(__always)
    private static var offset: Int { max(MemoryLayout<Header>.size, MemoryLayout<Element>.alignment) }

    @inline(never)
    private mutating func grow() -> UnsafeMutablePointer<Header> {
        let count = count
        let stride = MemoryLayout<Element>.stride
        let capacity = count > 0 ? 2 * count : max(1, (Self.smallestBlock - Self.offset) / stride)
        let grown = UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset + capacity * stride,
            alignment: max(MemoryLayout<Header>.alignment, MemoryLayout<Element>.alignment)
        ).initializeMemory(as: Header.self, to: Header(count: UInt32(count), capacity: UInt32(capacity)))
        if let block {
            Self.elements(of: grown).moveInitialize(from: Self.elements(of: block), count: count)
            block.deallocate()
        }
        block = grown
        return grown
    }
}
