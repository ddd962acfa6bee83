#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Standard input, output and error.
enum StandardStreams {
    /// The name of standard input and output on the command line.
    static let name = "-"

    /// Opens the standard streams that the program was started without.
    ///
    /// Otherwise the next opened file would get the missing number, and terminal output would end up in it. They are
    /// opened in a way that reading the input and writing the others still fails.
    static func reserve() {
        for descriptor in CInt(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
