#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A program of another library that does the same works, all in one go.
///
/// It prints lines of four fields, separated by tabs: its name, the work, the metric and the value. It starts its own
/// second process, in the placement of this one.
struct Rival {
    private let directory: String
    private let command: String

    /// The programs that `directory` is expected to hold, built.
    static func all(in directory: String) -> [Rival] {
        ["./sdbus/sd p2p", "./capnp/cp"].map { Rival(directory: directory, command: $0) }
    }

    /// Runs the program and returns its results, those that this benchmark has a work for.
    func measure(_ cores: Cores) throws -> [Line] {
        // The programs put their sockets into this folder.
        let script = "cd \(quoted(directory)) && mkdir -p tmp && exec \(command) 2>/dev/null"
        guard let output = popen(script, "r") else { throw BenchError("no shell could be started: \(describe(errno))") }
        var lines: [Line] = []
        var buffer = [CChar](repeating: 0, count: 1024)
        while fgets(&buffer, CInt(buffer.count), output) != nil {
            let text = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if let line = Self.line(text.split(separator: "\n").first ?? "", cores) { lines.append(line) }
        }
        guard pclose(output) == 0 else { throw BenchError("\(command) in \(directory) failed; is it built?") }
        return lines
    }

    private static func line(_ text: Substring, _ cores: Cores) -> Line? {
        let fields = text.split(separator: "\t")
        guard fields.count == 4, let value = Double(fields[3]) else { return nil }
        let (work, metric): (Work, String)
        switch (fields[1], fields[2]) {
        case ("W1_null", "p50_us"): (work, metric) = (.nullCall, "p50_us")
        case ("W5_callback", "p50_us"): (work, metric) = (.callback, "p50_us")
        case ("W2_graph_100", "us_per_call"): (work, metric) = (.graph100, "p50_us")
        case ("W2_graph_10000", "us_per_call"): (work, metric) = (.graph10000, "p50_us")
        case ("W3_inflight64", "calls_per_s"): (work, metric) = (.inFlight64, "calls_per_s")
        case ("W3_oneway", "msgs_per_s"): (work, metric) = (.oneWay, "messages_per_s")
        case ("W4_blob_1MiB", "GB_per_s"): (work, metric) = (.blob1MiB, "GB_per_s")
        case ("W4_blob_64MiB", "GB_per_s"): (work, metric) = (.blob64MiB, "GB_per_s")
        default: return nil
        }
        return Line(work: work, peer: String(fields[0]), cores: cores, metric: metric, value: Figure([value]))
    }

    /// Quotes a path for the shell.
    private func quoted(_ path: String) -> String {
        "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
