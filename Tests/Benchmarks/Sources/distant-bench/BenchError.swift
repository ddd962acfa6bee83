#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The error as text.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The system's text for an error number.
func describe(_ error: CInt) -> String {
    String(cString: strerror(error))
}
