#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Whole lines to the terminal.
enum Console {
    /// A line on standard output.
    static func say(_ line: String) throws {
        let output = ByteOutput(descriptor: 1, named: "standard output")
        output.append(line)
        output.append("\n")
        try output.flush()
    }

    /// A sentence on standard error, with the tool's name before it.
    static func complain(_ sentence: String) {
        let output = ByteOutput(descriptor: 2, named: "standard error")
        output.append("distant: \(sentence)\n")
        // There is no one to report to.
        try? output.flush()
    }
}
