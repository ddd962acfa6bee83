import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Whole lines to the terminal, at once: two programs write to it.
public enum Console {
    /// What went wrong with the last line that was lost, as `errno` says it.
    private static let loss = Atomic<CInt>(0)

    /// A line on standard output.
    public static func say(_ line: String = "") {
        put(line, 1)
    }

    /// A line on standard error, with the program's name before it.
    public static func complain(_ program: String, _ sentence: String) {
        put("\(program): \(sentence)", 2)
    }

    /// Throws if not all that was said could be written.
    public static func checkOutput() throws {
        let loss = loss.load(ordering: .relaxed)
        if loss != 0 { throw LostOutput(reason: String(cString: strerror(loss))) }
    }

    /// Lines that could not be written on standard output.
    private struct LostOutput: Error, CustomStringConvertible {
        let reason: String
        var description: String { "standard output cannot be written: \(reason)" }
    }

    private static func put(_ line: String, _ descriptor: CInt) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR {
                if descriptor == 1 { loss.store(errno, ordering: .relaxed) }
                return
            }
            bytes = bytes.dropFirst(max(0, count))
        }
    }
}

/// Words of the command line that are not understood; the description says which.
public struct UsageError: Error, CustomStringConvertible {
    /// What is wrong with them.
    public let description: String

    /// Makes an error.
    public init(_ description: String) {
        self.description = description
    }

    /// Refuses words that are no text: repaired as they are, they would name another file.
    public static func check(_ words: [String]) throws {
        if let word = words.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            throw UsageError("“\(word)” is no text in UTF-8")
        }
    }
}
