import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// The memory of the process, for exit tests, where no other test runs.
package enum PeakMemory {
    /// The bytes that are resident now; 0 if the system does not report them.
    package static var resident: Int { status("VmRSS:") }
    /// The most bytes that were resident at a time; 0 if the system does not report them.
    package static var peak: Int { status("VmHWM:") }

    /// The most bytes that were resident while `body` ran, minus those at its start; 0 if the system does not report
    /// them.
    package static func growth(during body: () throws -> Void) rethrows -> Int {
        resetPeak()
        let before = resident
        try body()
        return max(0, peak - before)
    }

    /// As the synchronous form.
    package static func growth(during body: () async throws -> Void) async rethrows -> Int {
        resetPeak()
        let before = resident
        try await body()
        return max(0, peak - before)
    }

    #if canImport(Glibc)
        /// Has large blocks of memory go back to the system when they are freed, so that only what is held is resident.
        ///
        /// Otherwise the allocator keeps them, for each thread some.
        package static func giveBackFreedBlocks() {
            // Swift does not import it. M_MMAP_THRESHOLD is -3.
            typealias Option = @convention(c) (CInt, CInt) -> CInt
            guard let set = dlsym(nil, "mallopt") else { return }
            _ = unsafeBitCast(set, to: Option.self)(-3, 128 << 10)
        }
    #endif

    /// Resets the kernel's record of the peak; if that is not allowed, `growth` is at least as large.
    private static func resetPeak() {
        guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
        try? file.write(contentsOf: Data("5".utf8))
        try? file.close()
    }

    private static func status(_ name: String) -> Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/status") else { return 0 }
        let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }
}
