import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Whole lines to the terminal, at once: two programs write to it.
///
/// A line that cannot be written ends no program: what was lost on standard output is kept for `checkOutput`, and of what was
/// lost on standard error nobody is left to be told.
public enum Console {
    /// What went wrong with the last line that was lost, as `errno` says it.
    private static let loss = Atomic<CInt>(0)

    /// Opens those of standard input, output and error that the program was started without; to be called first.
    ///
    /// The next file that is opened would get the missing number, and a line for the terminal would end up in it. They are
    /// opened so that reading the input and writing the others still fails.
    public static func reserveDescriptors() {
        for descriptor in CInt(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free, which is this one.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// A line on standard output.
    public static func say(_ line: String = "") {
        let problem = put(line, 1)
        if problem != 0 { loss.store(problem, ordering: .relaxed) }
    }

    /// A line on standard error, with the program's name before it.
    public static func complain(_ program: String, _ sentence: String) {
        _ = put("\(program): \(sentence)", 2)
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

    /// Writes a line; 0, or what went wrong as `errno` says it.
    private static func put(_ line: String, _ descriptor: CInt) -> CInt {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Another program has made it so for all who share it.
                var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&interest, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
