#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A directory of a test's own.
struct TemporaryDirectory: Sendable {
    struct Failed: Error {}
    let path: String

    init() throws {
        var template = Array("/tmp/port-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failed() }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    func remove() { rmdir(path) }
}
