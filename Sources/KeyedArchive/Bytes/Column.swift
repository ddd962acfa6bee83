/// A growing list of plain values, in memory that the system moves instead of copying it when the list grows.
///
/// An array would need the old and the new memory at the same time, which a list per object of a large file cannot afford.
final class Column<Element: BitwiseCopyable> {
    // Each access is short and calls nothing of the user's, so exclusivity need not be checked at run time.
    @exclusivity(unchecked)
    private var sink = ByteSink(capacity: 0)
    /// The number of elements.
    @exclusivity(unchecked)
    private(set) var count = 0

    deinit { sink.deallocate() }

    private static var stride: Int { MemoryLayout<Element>.stride }

    /// The bytes to begin with.
    private static var first: Int { 256 }

    func append(_ element: Element) {
        sink.reserve(count == 0 ? Self.first : Self.stride)
        sink.base.storeBytes(of: element, toByteOffset: sink.count, as: Element.self)
        sink.count &+= Self.stride
        count &+= 1
    }

    /// Removes the last element; nil if there is none.
    func popLast() -> Element? {
        guard count > 0 else { return nil }
        count &-= 1
        sink.count &-= Self.stride
        return sink.base.loadUnaligned(fromByteOffset: sink.count, as: Element.self)
    }

    subscript(position: Int) -> Element {
        get {
            precondition(position >= 0 && position < count)
            return sink.base.loadUnaligned(fromByteOffset: position &* Self.stride, as: Element.self)
        }
        set {
            precondition(position >= 0 && position < count)
            sink.base.storeBytes(of: newValue, toByteOffset: position &* Self.stride, as: Element.self)
        }
    }
}
