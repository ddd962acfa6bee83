// FirstConnection.md: stop
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ends the program after a line on standard error.
public func stop(_ program: String, _ reason: String, status: Int32) -> Never {
    let line = "\(program): \(reason)\n"
    // What was printed comes first.
    fflush(nil)
    write(2, line, line.utf8.count)
    exit(status)
}
// end
