#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Integers that are 0 at first.
///
/// The system hands large memory out zeroed, and only when it is written to: what stays 0 takes none.
struct ZeroedMemory<Element: FixedWidthInteger & BitwiseCopyable> {
    private let start: UnsafeMutablePointer<Element>

    init(_ count: Int) {
        guard let memory = calloc(max(count, 1), MemoryLayout<Element>.stride) else {
            fatalError("there is no memory left")
        }
        start = memory.bindMemory(to: Element.self, capacity: count)
    }

    func deallocate() { free(start) }

    /// Sets the first so many integers to 0 again.
    func clear(_ count: Int) { start.update(repeating: 0, count: count) }

    @inline(__always)
    subscript(index: Int) -> Element {
        get { start[index] }
        nonmutating set { start[index] = newValue }
    }
}
