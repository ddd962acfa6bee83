import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes whole lines to the terminal at once, because two programs write to it.
///
/// A program goes on if a line cannot be written. `checkOutput` reports lines lost on standard output; those lost on
/// standard error cannot be reported.
public enum Console {
    /// The `errno` of the last line that was lost.
    private static let loss = Atomic<CInt>(0)

    /// Opens standard input, output and error if the program was started without them.
    ///
    /// Call it first. The next file that is opened would get the missing number, and a line for the terminal would end
    /// up in it. They are opened so that reading the input and writing the others still fails.
    public static func reserveDescriptors() {
        for descriptor in CInt(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Prints a line on standard output.
    public static func say(_ line: String = "") {
        let problem = put(line, 1)
        if problem != 0 { loss.store(problem, ordering: .relaxed) }
    }

    /// Prints a line on standard error, after the program's name.
    public static func complain(_ program: String, _ sentence: String) {
        _ = put("\(program): \(sentence)", 2)
    }

    /// Prints a line on standard error that says what is wrong with the command line, and where to read what is right.
    public static func complain(_ program: String, _ error: UsageError) {
        complain(program, "\(error); see \(program) --help")
    }

    /// Throws if a line on standard output could not be written.
    public static func checkOutput() throws {
        let loss = loss.load(ordering: .relaxed)
        if loss != 0 { throw LostOutput(reason: String(cString: strerror(loss))) }
    }

    /// A line could not be written on standard output.
    private struct LostOutput: Error, CustomStringConvertible {
        let reason: String
        var description: String { "standard output cannot be written: \(reason)" }
    }

    /// Writes a line.
    ///
    /// Returns 0 or an `errno`.
    private static func put(_ line: String, _ descriptor: CInt) -> CInt {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Another program has made the shared descriptor non-blocking.
                var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&interest, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
