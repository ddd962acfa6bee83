import DistantObjects
import Foundation
import KeyedArchive

/// Opens the largest archives of other programs as graphs, compared with Python's reader of property lists.
///
/// Measures nothing if the archives or python3 are missing.
struct OpenSamples {
    private let python = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private func archives() throws -> [URL] {
        var places = [URL(fileURLWithPath: #filePath)]
        // From Sources/distant-bench/Archives in Tests/Benchmarks to the folder next to the package.
        for _ in 0..<7 { places[0].deleteLastPathComponent() }
        places[0].appendPathComponent("shared/fixtures")
        if let path = ProcessInfo.processInfo.environment["DISTANT_FIXTURES"] {
            places.insert(URL(fileURLWithPath: path), at: 0)
        }
        for place in places {
            let folder = place.appendingPathComponent("archives/real")
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { continue }
            return names.map { folder.appendingPathComponent($0) }
        }
        return []
    }

    func measure(_ bench: ArchiveBench) async throws {
        var largest: [ArchiveFormat: (url: URL, bytes: [UInt8])] = [:]
        for url in try archives() {
            let bytes = Array(try Data(contentsOf: url))
            guard let format = ArchiveFormat(detecting: bytes) else { continue }
            if bytes.count > largest[format]?.bytes.count ?? 0 { largest[format] = (url, bytes) }
        }
        guard let python, !largest.isEmpty else {
            return complain("open: the archives of others, or python3, are not here")
        }
        for (format, (url, bytes)) in largest.sorted(by: { $0.value.bytes.count > $1.value.bytes.count }) {
            let ways = [
                ArchiveWay.nanoseconds("generic", perObject: 1) { try ArchivedGraph(bytes, anyArchiver: true) },
                ArchiveWay.nanoseconds("generic-all", perObject: 1) {
                    let objects = try ArchivedGraph(bytes, anyArchiver: true).objects
                    for object in objects where object.className == "" { throw BenchError("an object without class") }
                    return objects
                },
                ArchiveWay("plistlib") { try run(python, url) },
            ]
            try await bench.compare("open-largest-\(format)", metric: "ns", against: "plistlib", ways)
        }
    }

    /// The nanoseconds in which Python reads the property list: the median of its own samples.
    private func run(_ python: String, _ url: URL) throws -> Double {
        let script = """
            import plistlib, sys, time
            data = open(sys.argv[1], "rb").read()
            times = []
            for _ in range(9):
                value = None
                start = time.process_time_ns()
                value = plistlib.loads(data)
                times.append(time.process_time_ns() - start)
            print(sorted(times)[4])
            """
        return Double(try ChildRun(python, ["-c", script, url.path]).output.trimmingCharacters(in: .newlines)) ?? .nan
    }
}
