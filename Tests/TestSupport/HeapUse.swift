#if canImport(Glibc)
    import Glibc
#endif

/// What the allocator has handed out, for exit tests, where no other test runs.
///
/// Resident memory says less: it has free blocks between used ones, and the stacks of threads.
package enum HeapUse {
    /// Whether the allocator reports it, and it is that of the program and not of a sanitizer.
    package static var isReported: Bool { bytes > 0 && !Sanitizer.isActive }

    #if canImport(Glibc)
        private typealias MallocInfo = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt

        /// The bytes of all blocks that are not freed; 0 if the allocator does not report them.
        package static var bytes: Int {
            // What follows the last heap are the totals: of free blocks, of blocks of their own, and of all heaps.
            let lines = report()?.split(separator: "\n") ?? []
            let totals = lines.suffix(from: (lines.lastIndex(of: "</heap>") ?? -1) + 1)
            return number("<system type=\"current\"", in: totals) - number("<total type=\"fast\"", in: totals)
                - number("<total type=\"rest\"", in: totals) + number("<total type=\"mmap\"", in: totals)
        }

        /// The last number in the line with a prefix.
        private static func number(_ prefix: String, in lines: some Collection<Substring>) -> Int {
            guard let line = lines.first(where: { $0.hasPrefix(prefix) }) else { return 0 }
            return line.split(whereSeparator: { !$0.isNumber }).last.flatMap { Int($0) } ?? 0
        }

        private static func report() -> String? {
            guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "malloc_info") else { return nil }
            var text: UnsafeMutablePointer<CChar>?
            var count = 0
            guard let file = open_memstream(&text, &count) else { return nil }
            _ = unsafeBitCast(symbol, to: MallocInfo.self)(0, file)
            fclose(file)
            defer { free(text) }
            return text.map { String(cString: $0) }
        }
    #else
        package static var bytes: Int { 0 }
    #endif
}
