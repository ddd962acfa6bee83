import CFloor

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A path for a listening socket, in a separate directory that is removed with this object.
final class SocketPlace: Sendable {
    let path: String
    private let directory: String

    init() throws {
        var template = Array("/tmp/distant-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchError("no directory for the socket could be made: \(describe(errno))")
        }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        path = directory + "/s"
    }

    deinit {
        // The listening process may not have removed them yet.
        unlink(path)
        unlink(directory + "/.s.distant-lock")
        rmdir(directory)
    }
}
