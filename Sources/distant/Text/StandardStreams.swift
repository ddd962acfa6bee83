#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Standard input, output and error.
enum StandardStreams {
    /// How standard input and output are named on the command line.
    static let name = "-"

    /// Opens those that the program was started without.
    ///
    /// The next file that is opened would get the missing number, and a line for the terminal would end up in it. They are
    /// opened so that reading the input and writing the others still fails.
    static func reserve() {
        for descriptor in CInt(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
