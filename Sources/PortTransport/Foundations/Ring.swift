/// A queue in one block of memory that grows by doubling; both ends cost a few instructions.
///
/// An `Array` would move its elements at each removal from the front, or check for uniqueness at each access.
struct Ring<Element>: ~Copyable {
    private var storage: UnsafeMutablePointer<Element>?
    private var capacity = 0
    private var head = 0
    private(set) var count = 0

    init() {}

    deinit {
        guard let storage else { return }
        for i in 0..<count { (storage + ((head + i) & (capacity - 1))).deinitialize(count: 1) }
        storage.deallocate()
    }

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    @inline(__always)
    mutating func append(_ element: consuming Element) {
        if count == capacity { grow() }
        // `grow` leaves storage behind.
        (storage.unsafelyUnwrapped + ((head &+ count) & (capacity &- 1))).initialize(to: element)
        count &+= 1
    }

    @inline(__always)
    mutating func popFirst() -> Element? {
        guard count > 0, let storage else { return nil }
        let element = (storage + head).move()
        head = (head &+ 1) & (capacity &- 1)
        count &-= 1
        return element
    }

    /// The element `index` places behind the first; the caller has checked that there is one.
    subscript(index: Int) -> Element {
        _read {
            precondition(index < count)
            yield storage.unsafelyUnwrapped[(head &+ index) & (capacity &- 1)]
        }
        _modify {
            precondition(index < count)
            yield &storage.unsafelyUnwrapped[(head &+ index) & (capacity &- 1)]
        }
    }

    /// Removes everything, and the memory too if it is for more than `bound` elements.
    mutating func removeAll(keeping bound: Int) {
        if count > 0, let storage {
            for i in 0..<count { (storage + ((head + i) & (capacity - 1))).deinitialize(count: 1) }
            count = 0
        }
        head = 0
        trim(to: bound)
    }

    /// Frees the memory of an empty queue that has grown beyond `bound` elements.
    mutating func trim(to bound: Int) {
        guard count == 0, capacity > bound else { return }
        storage?.deallocate()
        storage = nil
        capacity = 0
        head = 0
    }

    private mutating func grow() {
        let larger = Swift.max(4, capacity * 2)
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        if let storage {
            let first = Swift.min(count, capacity - head)
            moved.moveInitialize(from: storage + head, count: first)
            (moved + first).moveInitialize(from: storage, count: count - first)
            storage.deallocate()
        }
        storage = moved
        capacity = larger
        head = 0
    }
}
