import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Shows on a terminal how many blocks are finished, in one line that is written again and again.
final class Progress: Sendable {
    private let total: Int
    private let isShown = isatty(2) == 1
    /// The most that was shown: of two workers that finish at a time, the later one may come first.
    private let most = Mutex(0)

    init(of total: Int) { self.total = total }

    func show(_ finished: Int) {
        guard isShown else { return }
        most.withLock { most in
            guard finished > most else { return }
            most = finished
            let width = 40
            let filled = width * finished / total
            let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
            put("\r[\(bar)] \(finished) of \(total)")
        }
    }

    func end() { if isShown { put("\n") } }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(2, bytes, bytes.count)
    }
}
