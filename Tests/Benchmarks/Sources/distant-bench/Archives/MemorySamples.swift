import CFloor
import DistantObjects
import Foundation
import KeyedArchive

/// Measures time and peak memory of reading large archives, each in a separate process.
struct MemorySamples {
    let isQuick: Bool

    private var count: Int { isQuick ? 100_000 : 1_000_000 }

    func measure(_ bench: ArchiveBench) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("distant-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("archive")
        for format in [ArchiveFormat.compact, .binary, .xml] {
            // Written in a separate process, too: memory that this process keeps would affect later measurements.
            try child(bench, "write-small", format, file)
            try child(bench, "read-small", format, file)
            try child(bench, "open-small", format, file)
            if format != .xml {
                try child(bench, "write-list", format, file)
                try child(bench, "open-list", format, file)
                try child(bench, "write-blob", format, file)
                try child(bench, "read-blob", format, file)
            }
        }
        try child(bench, "write-json", .compact, file)
        try child(bench, "read-json", .compact, file)
    }

    private func child(_ bench: ArchiveBench, _ work: String, _ format: ArchiveFormat, _ file: URL) throws {
        // A million objects in XML would be more than `ArchiveLimits.bytes`.
        let count = format == .xml ? count / 4 : count
        let run = try ChildRun(bench.executable, ["archive", "--child", work, "\(format)", "\(count)", file.path])
        if !run.output.isEmpty { put(String(run.output.dropLast())) }
    }
}

/// The work of a launched process.
struct MemoryChild {
    let work: String
    let format: ArchiveFormat
    let count: Int
    let file: URL

    init(_ words: [String]) throws {
        let formats: [String: ArchiveFormat] = ["compact": .compact, "binary": .binary, "xml": .xml]
        guard words.count == 4, let format = formats[words[1]], let count = Int(words[2]) else {
            throw BenchError("--child is for this program itself")
        }
        work = words[0]
        self.format = format
        self.count = count
        file = URL(fileURLWithPath: words[3])
    }

    func run() throws {
        switch work {
        case "write-small": try write { try KeyedArchiver.archive(Bar(count: count), format: format) }
        case "read-small":
            try read("small-objects", objects: count) {
                let bar = try KeyedUnarchiver.unarchive(Bar.self, from: file)
                guard bar.foos.count == count else { throw BenchError("a Bar has lost Foos") }
                return bar
            }
        case "open-small":
            try read("small-objects-generic", objects: count) {
                let graph = try open()
                guard graph.objects.count >= count else { throw BenchError("a graph has lost objects") }
                return graph
            }
        case "write-list": try write { try list().bytes(format: format) }
        case "open-list": try read("list-generic", objects: count, walk)
        case "write-blob": try write { try KeyedArchiver.archive(Data(repeating: 7, count: 64 << 20), format: format) }
        case "read-blob":
            try read("blob-64MiB", objects: 1) {
                let data = try KeyedUnarchiver.unarchive(Data.self, from: file)
                guard data.count == 64 << 20 else { throw BenchError("bytes are lost") }
                return data
            }
        case "write-json": try write { Array(try JSONEncoder().encode(CodableBar(count: count))) }
        case "read-json":
            try read("small-values", format: "json", objects: count) {
                let bar = try JSONDecoder().decode(CodableBar.self, from: Data(contentsOf: file))
                guard bar.foos.count == count else { throw BenchError("a Bar has lost Foos") }
                return bar
            }
        default: throw BenchError("--child is for this program itself")
        }
    }

    private func write(_ bytes: () throws -> [UInt8]) throws { try Data(bytes()).write(to: file) }

    private func open() throws -> ArchivedGraph { try ArchivedGraph(Data(contentsOf: file)) }

    private func list() -> ArchivedGraph {
        var graph = format == .compact ? ArchivedGraph() : ArchivedGraph(archiver: "NSKeyedArchiver")
        var next = ArchivedValue.null
        for number in 0..<count {
            next = .reference(graph.add(className: "Node", fields: [("n", .integer(Int64(number))), ("next", next)]))
        }
        graph.setRoot(next, forKey: "root")
        return graph
    }

    /// Opens a list and visits all its nodes.
    private func walk() throws -> Any {
        let graph = try open()
        var length = 0
        var next = graph.roots["root"]
        while case .reference(let index)? = next, let node = graph.objects[index].record {
            length += 1
            next = node["next"]
        }
        guard length == count else { throw BenchError("a list of \(length) nodes") }
        return graph
    }

    /// Prints the time of reading and freeing for each object, and the peak memory.
    ///
    /// The memory is given in multiples of the file's size: in total, and without the result.
    private func read(_ name: String, format: String? = nil, objects: Int, _ body: () throws -> Any) throws {
        let size = Double(try Data(contentsOf: file, options: .alwaysMapped).count)
        let before = try memory("VmHWM")
        var start = processorTime()
        var result: Any? = try body()
        var time = processorTime() - start
        let peak = try memory("VmHWM")
        floorTrimMemory()
        let left = try withExtendedLifetime(result) { try memory("VmRSS") }
        start = processorTime()
        result = nil
        time += processorTime() - start
        let lines = [
            ("ns_per_object", Double(time) / Double(objects)), ("peak_in_files", (peak - before) / size),
            ("peak_beside_result_in_files", (peak - left) / size),
        ]
        for (metric, value) in lines {
            ArchiveLine(work: "read-\(name)", format: format ?? "\(self.format)", metric: metric, value: value).print()
        }
    }

    /// A field of this process's status, in bytes: `VmHWM` is its peak memory, `VmRSS` its current memory.
    private func memory(_ field: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(field):") }),
            let kilobytes = Double(line.split(whereSeparator: { !$0.isNumber }).first ?? "")
        else { throw BenchError("the kernel does not tell this process's memory") }
        return kilobytes * 1024
    }
}
