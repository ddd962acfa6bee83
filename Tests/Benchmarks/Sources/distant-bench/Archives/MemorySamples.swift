import DistantObjects
import Foundation

/// Time and peak memory of reading large archives, each in a process of its own.
struct MemorySamples {
    let isQuick: Bool

    private var count: Int { isQuick ? 100_000 : 1_000_000 }

    func measure(_ bench: ArchiveBench) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("distant-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("archive")
        for format in [ArchiveFormat.compact, .binary, .xml] {
            // Written in a process of its own, too: memory this one keeps would be there for what is measured later.
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
        // A million objects in XML would be more than `Limits.bytes`.
        let count = format == .xml ? count / 4 : count
        let run = try ChildRun(bench.executable, ["archive", "--child", work, "\(format)", "\(count)", file.path])
        if !run.output.isEmpty { put(String(run.output.dropLast())) }
    }
}

/// The part of a launched process.
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
                guard try KeyedUnarchiver.unarchive(Bar.self, from: file).foos.count == count else {
                    throw BenchError("a Bar has lost Foos")
                }
            }
        case "open-small":
            try read("small-objects-generic", objects: count) {
                guard try open().objects.count >= count else { throw BenchError("a graph has lost objects") }
            }
        case "write-list": try write { try list().bytes(format: format) }
        case "open-list": try read("list-generic", objects: count, walk)
        case "write-blob": try write { try KeyedArchiver.archive(Data(repeating: 7, count: 64 << 20), format: format) }
        case "read-blob":
            try read("blob-64MiB", objects: 1) {
                guard try KeyedUnarchiver.unarchive(Data.self, from: file).count == 64 << 20 else {
                    throw BenchError("bytes are lost")
                }
            }
        case "write-json": try write { Array(try JSONEncoder().encode(CodableBar(count: count))) }
        case "read-json":
            try read("small-values", format: "json", objects: count) {
                let bar = try JSONDecoder().decode(CodableBar.self, from: Data(contentsOf: file))
                guard bar.foos.count == count else { throw BenchError("a Bar has lost Foos") }
            }
        default: throw BenchError("--child is for this program itself")
        }
    }

    private func write(_ bytes: () throws -> [UInt8]) throws { try Data(bytes()).write(to: file) }

    private func open() throws -> ArchivedGraph { try ArchivedGraph(Array(Data(contentsOf: file))) }

    private func list() -> ArchivedGraph {
        var graph = format == .compact ? ArchivedGraph() : ArchivedGraph(archiver: "NSKeyedArchiver")
        var next = ArchivedValue.null
        for number in 0..<count {
            next = .reference(graph.add(className: "Node", fields: [("n", .integer(Int64(number))), ("next", next)]))
        }
        graph.setRoot(next, forKey: "root")
        return graph
    }

    /// Opens a list and follows it to its end.
    private func walk() throws {
        let graph = try open()
        var length = 0
        var next = graph.roots["root"]
        while case .reference(let index)? = next, let node = graph.objects[index].record {
            length += 1
            next = node["next"]
        }
        guard length == count else { throw BenchError("a list of \(length) nodes") }
    }

    /// Prints the time of reading for each object, and how much memory it took at most, in sizes of the file.
    private func read(_ name: String, format: String? = nil, objects: Int, _ body: () throws -> Void) throws {
        let size = Double(try Data(contentsOf: file, options: .alwaysMapped).count)
        let before = try peak()
        let start = processorTime()
        try body()
        let time = Double(processorTime() - start)
        let grown = try peak() - before
        let format = format ?? "\(self.format)"
        ArchiveLine(work: "read-\(name)", format: format, metric: "ns_per_object", value: time / Double(objects))
            .print()
        ArchiveLine(work: "read-\(name)", format: format, metric: "peak_in_files", value: grown / size).print()
    }

    /// The most memory that this process has had, in bytes.
    private func peak() throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kilobytes = Double(line.split(whereSeparator: { !$0.isNumber }).first ?? "")
        else { throw BenchError("the kernel does not tell this process's memory") }
        return kilobytes * 1024
    }
}
