#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ArchiveFile {
    /// Opens a file under a number that is not that of a standard stream.
    ///
    /// In a process that has closed one, what is printed there would get into the archive.
    ///
    /// - Parameter path: With a zero at its end.
    /// - Returns: A descriptor, or -1 with `errno`.
    static func opened(_ path: [CChar], _ flags: CInt, _ mode: mode_t = 0) -> CInt {
        for stream: CInt in 0...2 where fcntl(stream, F_GETFD) < 0 {
            // Reading from 0 and writing to 1 and 2 still fail.
            let null = open("/dev/null", (stream == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
            if null >= 0, null != stream { close(null) }
        }
        let descriptor = open(path, flags | O_CLOEXEC, mode)
        guard 0...2 ~= descriptor else { return descriptor }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        let problem = errno
        close(descriptor)
        errno = problem
        return moved
    }
}
