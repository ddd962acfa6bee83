#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that cannot be read, understood or written, and why.
struct FileError: Error, CustomStringConvertible {
    let path: String
    let reason: String

    init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    /// Makes an error from the error number of a system call.
    init(_ path: String, cannotBe what: String, errno number: CInt) {
        self.init(path, "cannot be \(what): \(String(cString: strerror(number)))")
    }

    var description: String { "\(PlainText.name(path)): \(reason)" }
}
