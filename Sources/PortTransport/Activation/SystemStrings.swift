/// Strings for a new program, as the system takes them: bytes without a zero, which need not be UTF-8.
struct SystemStrings {
    /// All of them, each with a zero at its end.
    private var bytes: [CChar] = []
    private var starts: [Int] = []

    /// Adds a string.
    ///
    /// - Parameter what: What it is, for the error.
    /// - Throws: `launchFailed` if it contains a zero byte: the program would get only what is before it.
    mutating func append(
        _ string: some Collection<UInt8>, _ what: @autoclosure () -> String
    ) throws(TransportError) {
        guard !string.contains(0) else {
            throw TransportError(.launchFailed, "\(what()) contains a zero byte, which no program can be given")
        }
        starts.append(bytes.count)
        bytes += string.lazy.map { CChar(bitPattern: $0) }
        bytes.append(0)
    }

    /// Calls `body` with pointers to the strings, ended by null.
    func withPointers<Result>(_ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBufferPointer { buffer in
            var pointers = starts.map { start in buffer.baseAddress.map { $0 + start } }
            pointers.append(nil)
            return pointers.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
        }
    }
}
