import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How a run ends early.
enum Verdict {
    /// What this process does, for the text of a failure.
    static let round = Mutex("")
    /// Operations that have ended in this process.
    static let operations = Atomic<UInt64>(0)

    /// Prints what is wrong, and ends the process with status 3.
    static func fail(_ what: String) -> Never {
        say("torture: \(what)\n  in \(round.withLock { $0 })")
        exit(3)
    }

    /// Writes a line to standard error in one piece: both processes write there.
    static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
