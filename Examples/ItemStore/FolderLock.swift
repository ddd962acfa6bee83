import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A lock on the contents of a folder, which one process holds until this object is freed or the process ends.
final class FolderLock {
    private let descriptor: CInt

    /// The lock could not be acquired.
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Waits for the lock.
    ///
    /// - Throws: `Refused` if others keep the lock for longer than any change takes, or the folder cannot be locked.
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
