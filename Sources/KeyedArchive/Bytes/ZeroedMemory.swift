#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Elements all of whose bits are 0 at first, which must be a value of theirs.
///
/// The system hands large memory out zeroed, and only when it is written to: what stays 0 takes none.
struct ZeroedMemory<Element: BitwiseCopyable> {
    private let start: UnsafeMutablePointer<Element>

    init(_ count: Int) {
        guard let memory = calloc(max(count, 1), MemoryLayout<Element>.stride) else {
            fatalError("there is no memory left")
        }
        start = memory.bindMemory(to: Element.self, capacity: count)
    }

    func deallocate() { free(start) }

    /// Sets all bits of the first so many elements to 0 again.
    func clear(_ count: Int) { memset(start, 0, count * MemoryLayout<Element>.stride) }

    @inline(__always)
    subscript(index: Int) -> Element {
        get { start[index] }
        nonmutating set { start[index] = newValue }
    }
}
