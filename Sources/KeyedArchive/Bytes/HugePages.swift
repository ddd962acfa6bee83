#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory that is large enough for the system's huge pages.
enum HugePages {
    private static let size = 2 << 20
    /// Less than that is often in memory that was used before.
    private static let worthwhile = 8 << 20

    /// Has the system take huge pages for fresh memory that is about to be filled, where it has some.
    ///
    /// Most of the time of a copy into fresh memory goes to page faults, one for each 4 KiB.
    static func advise(_ memory: UnsafeMutableRawBufferPointer) {
        #if os(Linux)
            guard memory.count >= worthwhile, let base = memory.baseAddress else { return }
            let start = (UInt(bitPattern: base) + UInt(size - 1)) & ~UInt(size - 1)
            let end = (UInt(bitPattern: base) + UInt(memory.count)) & ~UInt(size - 1)
            // Only advice: where it fails the pages are small.
            _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), CInt(MADV_HUGEPAGE))
        #endif
    }
}
