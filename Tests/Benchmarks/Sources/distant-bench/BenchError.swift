#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What went wrong, as a sentence.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The system's words for an error number.
func describe(_ error: CInt) -> String {
    String(cString: strerror(error))
}
