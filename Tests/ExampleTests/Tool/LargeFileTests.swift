import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

#if os(Linux)
    /// The tool's memory for large files is at most the size of two of them.
    @Suite(
        "Memory of distant for large files",
        .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
    struct LargeFileTests {
        private let scratch: TemporaryFolder

        init() throws {
            scratch = try TemporaryFolder()
        }

        /// The memory of a run of the tool, in bytes.
        private struct Run {
            /// The most memory that was resident at a time.
            var peak = 0
            var output = 0
        }

        /// The memory that the tool may use beyond two files and its use for the smallest archive.
        private static let slack = 2 << 20
        private static let blob = 6 << 20

        enum Input: CaseIterable {
            case binary, xml, compact, compactRoot, sequential

            /// Writes an archive that consists mostly of `blob`.
            func write(_ blob: Data, to path: String) throws {
                let url = URL(fileURLWithPath: path)
                switch self {
                case .binary: try keyed("NSKeyedArchiver", "root", blob, .binary).write(to: url)
                case .xml: try keyed("NSKeyedArchiver", "root", blob, .xml).write(to: url)
                case .sequential: try keyed("NSArchiver", "$0", blob, .compact).write(to: url)
                case .compact:
                    var graph = ArchivedGraph()
                    let object = graph.add(className: "Photo", fields: [("data", .data(blob))])
                    graph.setRoot(.reference(object), forKey: "root")
                    try Data(graph.bytes(format: .compact)).write(to: url)
                case .compactRoot:
                    try KeyedArchiver.archive(blob, to: url)
                }
            }

            private func keyed(
                _ archiver: String, _ key: String, _ blob: Data, _ format: ArchiveFormat
            ) throws -> Data {
                var graph = ArchivedGraph(archiver: archiver)
                let data = try graph.add(.value(.data(blob)))
                let object = graph.add(className: "Photo", fields: [("data", .reference(data))])
                graph.setRoots(ArchivedRecord(typeName: "", storedKeys: [key], values: [.reference(object)]))
                return Data(try graph.bytes(format: format))
            }
        }

        @Test("Dump and convert use the memory of at most two files", arguments: Input.allCases)
        func pairsInLargeFile(input: Input) async throws {
            let small = scratch.path("small")
            try input.write(Data([1]), to: small)
            let path = scratch.path("large")
            try input.write(Data(repeating: 0xA5, count: Self.blob), to: path)
            let size = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped).count
            #expect(size >= Self.blob)
            let base = try await run(["dump", small]).peak
            for target in ["dump", "binary", "xml", "compact", "json"] {
                let large = try await run(
                    target == "dump" ? ["dump", path] : ["convert", "--to", target, path, "-"])
                #expect(large.output > Self.blob || target == "dump", "\(target): \(large.output) bytes")
                let bound = base + Self.slack + 2 * max(size, large.output)
                #expect(
                    large.peak <= bound,
                    "to \(target): \(large.peak >> 10) KiB for files of \(size >> 10) and \(large.output >> 10) KiB")
            }
        }

        /// Runs the tool with its output in a pipe that is drained only when it is full.
        ///
        /// The memory is looked at before each piece is taken out: the tool is never more than a pipe's content from
        /// its end when it is looked at last.
        private func run(_ arguments: [String]) async throws -> Run {
            let path = scratch.path(UUID().uuidString)
            try #require(mkfifo(path, 0o600) == 0)
            let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            try #require(pipe >= 0)
            defer { close(pipe) }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var filled = 0
            while true {
                let count = buffer.withUnsafeBytes { write(pipe, $0.baseAddress, 4096) }
                guard count > 0 else { break }
                filled += count
            }
            let program = try Program(
                "/bin/sh",
                ["-c", #"out=$1; shift; exec "$@" >"$out""#, "sh", path, builtProgram("distant")] + arguments,
                in: scratch)
            let isBlocked = try await eventually {
                let status = Status(program.pid)
                return status.isOver || status.isSleeping && status.name == "distant"
            }
            #expect(isBlocked)
            var run = Run(peak: Status(program.pid).peak, output: -filled)
            while true {
                let isOver = !isAlive(program.pid)
                run.peak = max(run.peak, Status(program.pid).peak)
                let count = buffer.withUnsafeMutableBytes { read(pipe, $0.baseAddress, $0.count) }
                if count > 0 { run.output += count } else if isOver { break } else { usleep(100) }
            }
            let outcome = try await program.finish()
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            #expect(run.peak > 0)
            return run
        }
    }

    /// The status of a process, as the system reports it.
    private struct Status {
        var name = ""
        var isSleeping = false
        var isOver = false
        /// The most memory that was resident at a time, in bytes.
        var peak = 0

        init(_ pid: Int32) {
            guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else {
                isOver = true
                return
            }
            for line in text.split(separator: "\n") {
                let words = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
                guard words.count >= 2 else { continue }
                switch words[0] {
                case "Name:": name = String(words[1])
                case "State:":
                    isSleeping = words[1] == "S"
                    isOver = words[1] == "Z" || words[1] == "X"
                case "VmHWM:": peak = (Int(words[1]) ?? 0) << 10
                default: break
                }
            }
        }
    }
#endif
