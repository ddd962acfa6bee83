#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes whole lines to the terminal.
enum Console {
    /// Writes a line to standard output.
    static func say(_ line: String) throws {
        let output = ByteOutput(descriptor: 1, named: "standard output")
        output.append(line)
        output.append("\n")
        try output.flush()
    }

    /// Writes a sentence to standard error, after the tool's name.
    static func complain(_ sentence: String) {
        let output = ByteOutput(descriptor: 2, named: "standard error")
        output.append("distant: \(sentence)\n")
        // There is nowhere left to report an error.
        try? output.flush()
    }
}
