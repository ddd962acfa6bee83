import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The right to change what is in a folder, which one process has at a time; given back when this object goes, or the process.
final class FolderLock {
    private let descriptor: CInt

    /// The right cannot be had.
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Waits for its turn.
    ///
    /// - Throws: `Refused` if others keep the right for longer than any change takes, or the folder cannot be locked.
    init(_ folder: URL) throws {
        descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.refused(folder) }
        let deadline = ContinuousClock.now + .seconds(60)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
                defer { close(descriptor) }
                throw Self.refused(folder)
            }
            usleep(20_000)
        }
    }

    deinit { close(descriptor) }

    private static func refused(_ folder: URL) -> Refused {
        let reason =
            errno == EWOULDBLOCK
            ? "another ItemStore has been changing it for a minute" : String(cString: strerror(errno))
        return Refused(description: "\(folder.path) cannot be changed: \(reason)")
    }
}
