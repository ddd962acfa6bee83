import CFloor
import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Calls over ssh, beside the floor's bare system calls over an ssh of its own.
///
/// The other machine needs this executable at the same path.
struct ShellBench {
    let options: Options
    /// The host, after the options of ssh.
    let words: [String]
    let executable: String

    func run() async throws {
        guard let host = words.last else { throw BenchError("ssh needs a host after it") }
        let place = try SocketPlace()
        try floorScript.write(toFile: place.path, atomically: false, encoding: .utf8)
        guard chmod(place.path, 0o700) == 0 else { throw BenchError("the floor's script cannot be made executable") }
        let floor = try Floor(FloorPipe, .one, executable: place.path)
        let connection = try await Connection.open(
            .ssh(host, command: "\(quoted(executable)) --serve", options: Array(words.dropLast())))
        let peer = Peer(connection: connection, bench: try await connection.root)
        let report = Results(printsAtOnce: true)
        for work in options.works {
            let count = options.scale.count(work)
            let found: (metric: String, floor: () throws -> Double, subject: Subject)? =
                switch work {
                case .nullCall: ("p50_us", { try floor.ping(count: count) }, peer.nullCall(count: count))
                case .blob64MiB:
                    (
                        "GB_per_s", { try floor.blob(length: 64 << 20, count: count) },
                        peer.blob(length: 64 << 20, count: count)
                    )
                default: nil
                }
            guard let found else { continue }
            var samplers: [() async throws -> Double] = [{ try found.floor() }]
            for api in API.allCases { samplers.append { try await peer.sample(found.subject, api) } }
            let results = try await interleaved(rounds: options.scale.rounds, samplers)
            for (api, value) in zip(API.allCases, results.dropFirst()) {
                report.add(
                    Line(
                        work: work, transport: .ssh, api: api, cores: .free, metric: found.metric, value: value,
                        floor: results[0].median))
            }
        }
        await connection.close()
    }

    /// Runs ssh in the place of the floor's process, which gets its pipes as descriptors 3 and 4.
    private var floorScript: String {
        let command = "\(quoted(executable)) --floor-serve \(FloorPipe.rawValue) -1 3<&0 4>&1"
        let shell = (["ssh", "-T", "-oBatchMode=yes"] + words + [command]).map(quoted).joined(separator: " ")
        return "#!/bin/sh\nexec \(shell) <&3 >&4 3<&- 4>&-\n"
    }

    private func quoted(_ word: String) -> String { "'\(word.replacing("'", with: "'\\''"))'" }
}
