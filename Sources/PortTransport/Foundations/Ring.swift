/// A first-in, first-out queue in one block of memory that grows by doubling.
///
///     | head | count | mask | element | element | ...
///
/// Appending and removing the first are O(1) amortised. It is one word and has no memory before its first use, because a
/// connection has many and uses few. An `Array` would move its elements at each removal from the front, or check for
/// uniqueness at each access.
@_spi(Queues) public struct Ring<Element>: ~Copyable {
    // Everything is public, because code of another module is specialised only then. It is not an interface for users
    // of the library.

    @usableFromInline var block: UnsafeMutablePointer<RingHeader>?

    /// Makes an empty queue.
    @inlinable
    public init() {}

    @inlinable
    deinit {
        guard let block else { return }
        Self.deinitialize(block)
        block.deallocate()
    }

    /// Whether it has no elements.
    @inlinable
    @inline(__always)
    public var isEmpty: Bool { count == 0 }

    /// The number of elements.
    @inlinable
    @inline(__always)
    public var count: Int { block.map { Int(truncatingIfNeeded: $0.pointee.count) } ?? 0 }

    /// The first element.
    @inlinable
    @inline(__always)
    public var first: Element? {
        guard let block, block.pointee.count > 0 else { return nil }
        return Self.place(0, in: block).pointee
    }

    /// Adds an element behind the others.
    @inlinable
    @inline(__always)
    public mutating func append(_ element: consuming Element) {
        let block =
            if let block, block.pointee.count <= block.pointee.mask { block } else { grow() }
        Self.place(block.pointee.count, in: block).initialize(to: element)
        block.pointee.count &+= 1
    }

    /// Removes and returns the first element.
    ///
    /// Frees the memory of a long queue with its last element: an idle connection must not keep it.
    @inlinable
    @inline(__always)
    public mutating func popFirst() -> Element? {
        guard let block, block.pointee.count > 0 else { return nil }
        let element = Self.place(0, in: block).move()
        block.pointee.head = (block.pointee.head &+ 1) & block.pointee.mask
        block.pointee.count &-= 1
        if block.pointee.count == 0, block.pointee.mask >= 64 { free() }
        return element
    }

    /// The element `index` places behind the first; the caller has checked that there is one.
    @inlinable
    public subscript(index: Int) -> Element {
        _read {
            precondition(index < count)
            yield Self.place(UInt32(truncatingIfNeeded: index), in: block.unsafelyUnwrapped).pointee
        }
        _modify {
            precondition(index < count)
            yield &Self.place(UInt32(truncatingIfNeeded: index), in: block.unsafelyUnwrapped).pointee
        }
    }

    /// Removes and returns the first element that matches.
    ///
    /// - Complexity: O(n), where n is the number of elements.
    @inlinable
    public mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let found = (0..<count).first(where: { matches(self[$0]) }) else { return nil }
        let element = self[found]
        // Those before it move up by one place.
        for index in stride(from: found, to: 0, by: -1) { self[index] = self[index - 1] }
        _ = popFirst()
        return element
    }

    /// Removes and returns everything.
    @inlinable
    public mutating func removeAll() -> [Element] {
        let all = (0..<count).map { self[$0] }
        removeAll(keeping: 0)
        return all
    }

    /// Removes everything, and the memory too if it is for more than `bound` elements.
    @inlinable
    public mutating func removeAll(keeping bound: Int) {
        guard let block else { return }
        Self.deinitialize(block)
        block.pointee.head = 0
        block.pointee.count = 0
        if block.pointee.mask >= bound { free() }
    }

    @inlinable
    @inline(__always)
    static func place(_ index: UInt32, in block: UnsafeMutablePointer<RingHeader>) -> UnsafeMutablePointer<Element> {
        elements(of: block) + Int(truncatingIfNeeded: (block.pointee.head &+ index) & block.pointee.mask)
    }

    @inlinable
    @inline(__always)
    static func elements(of block: UnsafeMutablePointer<RingHeader>) -> UnsafeMutablePointer<Element> {
        (UnsafeMutableRawPointer(block) + offset).assumingMemoryBound(to: Element.self)
    }

    /// Where in the block the elements begin.
    @inlinable
    @inline(__always)
    static var offset: Int {
        let alignment = MemoryLayout<Element>.alignment
        return (MemoryLayout<RingHeader>.size + alignment - 1) & ~(alignment - 1)
    }

    @inlinable
    @inline(__always)
    static func deinitialize(_ block: UnsafeMutablePointer<RingHeader>) {
        let (count, head) = (Int(block.pointee.count), Int(block.pointee.head))
        let first = Swift.min(count, Int(block.pointee.mask) + 1 - head)
        (elements(of: block) + head).deinitialize(count: first)
        elements(of: block).deinitialize(count: count - first)
    }

    @inlinable
    @inline(never)
    mutating func free() {
        block?.deallocate()
        block = nil
    }

    @inlinable
    @inline(never)
    mutating func grow() -> UnsafeMutablePointer<RingHeader> {
        let old = block?.pointee ?? RingHeader(head: 0, count: 0, mask: 0)
        let capacity = old.count == 0 ? 1 : 2 * (Int(old.mask) + 1)
        let header = UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset + capacity * MemoryLayout<Element>.stride,
            alignment: max(MemoryLayout<RingHeader>.alignment, MemoryLayout<Element>.alignment)
        ).initializeMemory(
            as: RingHeader.self, to: RingHeader(head: 0, count: old.count, mask: UInt32(capacity - 1)))
        let moved = Self.elements(of: header)
        if let block {
            let first = Swift.min(Int(old.count), Int(old.mask) + 1 - Int(old.head))
            moved.moveInitialize(from: Self.elements(of: block) + Int(old.head), count: first)
            (moved + first).moveInitialize(from: Self.elements(of: block), count: Int(old.count) - first)
            block.deallocate()
        }
        block = header
        return header
    }
}

/// The header before the elements of a `Ring`.
@usableFromInline
struct RingHeader {
    /// The place of the first element.
    @usableFromInline var head: UInt32
    @usableFromInline var count: UInt32
    /// The number of places, which is a power of two, less one.
    @usableFromInline let mask: UInt32

    @inlinable
    init(head: UInt32, count: UInt32, mask: UInt32) {
        self.head = head
        self.count = count
        self.mask = mask
    }
}
