internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The variables of this process, as far as this library reads and removes them.
///
/// The system has no lock for them, so a thread that reads all could meet another that removes one. The library holds a lock meanwhile.
/// Other code that changes variables while a program is launched is not kept out.
enum ProcessEnvironment {
    private static let lock = Lock()

    /// The value of a variable, which is removed, so that no program that this process starts takes it for its own.
    static func take(_ name: String) -> String? {
        lock.withLock {
            defer { unsetenv(name) }
            return getenv(name).map { String(cString: $0) }
        }
    }

    /// The value of a variable, if it is UTF-8 and not empty.
    static func value(of name: String) -> String? {
        let value = lock.withLock { getenv(name).flatMap { String(validatingCString: $0) } }
        return value?.isEmpty == false ? value : nil
    }

    /// Calls `body` with each variable, `NAME=VALUE`, which need not be UTF-8.
    static func forEach(_ body: (UnsafeRawBufferPointer) throws(TransportError) -> Void) throws(TransportError) {
        try lock.withLock { () throws(TransportError) in
            var entry = port_environment()
            while let start = entry?.pointee {
                try body(UnsafeRawBufferPointer(start: start, count: strlen(start)))
                entry = entry?.advanced(by: 1)
            }
        }
    }
}
