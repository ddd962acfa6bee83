#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Elements that are initially all zero bits, which must be a valid value.
///
/// The system maps large memory zeroed, and only when it is written to: elements that stay 0 take no memory.
struct ZeroedMemory<Element: BitwiseCopyable> {
    private let start: UnsafeMutablePointer<Element>

    init(_ count: Int) {
        guard let memory = calloc(max(count, 1), MemoryLayout<Element>.stride) else {
            fatalError("there is no memory left")
        }
        start = memory.bindMemory(to: Element.self, capacity: count)
    }

    func deallocate() { free(start) }

    /// Sets all bits of the first `count` elements to 0 again.
    func clear(_ count: Int) { memset(start, 0, count * MemoryLayout<Element>.stride) }

    @inline(__always)
    subscript(index: Int) -> Element {
        get { start[index] }
        nonmutating set { start[index] = newValue }
    }
}
