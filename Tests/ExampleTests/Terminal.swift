import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc

    /// A pseudo-terminal for a program's standard error.
    final class Terminal: Sendable {
        private let descriptor: CInt
        let path: String
        private let seen = Mutex("")

        init() throws {
            descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
            // TIOCSPTLCK and TIOCGPTN, which Swift's C library module does not import: unlock it, and which one it is.
            var (lock, number): (CInt, CInt) = (0, 0)
            let isOpen = ioctl(descriptor, 0x4004_5431, &lock) == 0 && ioctl(descriptor, 0x8004_5430, &number) == 0
            path = "/dev/pts/\(number)"
            try #require(isOpen)
        }

        deinit { close(descriptor) }

        /// All output so far.
        var text: String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &bytes, bytes.count)
                guard count > 0 else { return seen.withLock { $0 } }
                seen.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
            }
        }
    }
#endif
