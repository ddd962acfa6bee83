import CFloor
import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
struct Main {
    static func main() async {
        do {
            if CommandLine.arguments.dropFirst().first == "archive" {
                return try await archive(Array(CommandLine.arguments.dropFirst(2)))
            }
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            switch options.mode {
            case .help: put(Options.usage)
            case .serveFloor(let transport, let core): floorServe(FloorTransport(rawValue: transport), core)
            case .serve:
                var configuration = Peer.configuration(spins: options.spins)
                if options.pollsNever { configuration.polling = .off }
                try await BenchServer.serve(configuration)
            case .burn: try await Burner.serve()
            case .ssh(let words):
                try await ShellBench(options: options, words: words, executable: try executablePath()).run()
            case .polling: try await PollingBench(executable: try executablePath()).run()
            case .measure:
                let results = Results(printsAtOnce: options.passes == 1)
                let bench = Bench(options: options, executable: try executablePath(), report: results)
                let isComplete = await bench.run()
                options.earlier?.compare(results.lines)
                if let plot = options.plot { try Plot(results.lines).write(to: plot) }
                if !isComplete { exit(1) }
            }
        } catch {
            complain("\(error)")
            exit(2)
        }
    }

    private static func archive(_ arguments: [String]) async throws {
        let options = try ArchiveOptions(arguments)
        if options.wantsHelp { return put(ArchiveOptions.usage) }
        if let words = options.child { return try MemoryChild(words).run() }
        if await !ArchiveBench(options: options, executable: try executablePath()).run() { exit(1) }
    }

    private static func executablePath() throws -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let error = floorExecutablePath(&path, path.count)
        if error != 0 { throw BenchError("the path of this executable is not to be had: \(describe(error))") }
        return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Prints an error on standard error.
func complain(_ sentence: String) {
    put("distant-bench: \(sentence)", 2)
}

/// Writes a whole line at once, so that readers see each result immediately.
func put(_ line: String, _ descriptor: CInt = 1) {
    let bytes = Array((line + "\n").utf8)
    _ = write(descriptor, bytes, bytes.count)
}
