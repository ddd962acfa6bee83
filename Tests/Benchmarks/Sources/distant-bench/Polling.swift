import CFloor
import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Calls of two pairs of processes in turns: one polls adaptively, the other does not poll.
struct PollingBench {
    let executable: String

    private static let rounds = 7
    private static let modes: [Connection.Polling] = [.off, .adaptive]

    func run() async throws {
        try await measure("free", -1, 0)
        try await measure("one", floorLastCore(), 0)
        try await measure("busy", -1, 2)
    }

    private func measure(_ place: String, _ core: CInt, _ busy: Int) async throws {
        _ = floorPlace(core)
        defer { _ = floorPlace(-1) }
        var neighbours: [Peer] = []
        for _ in 0..<busy { neighbours.append(try await launch(["--burn"], .off)) }
        var peers: [Peer] = []
        for mode in Self.modes {
            peers.append(try await launch(["--serve"] + (mode == .off ? ["--no-polling"] : []), mode))
        }
        let floor = try Floor(FloorSocket, core < 0 ? .free : .one, executable: executable)
        if busy == 0 { print("floor", place, "calls", "off", [("p50_us", try floor.ping(count: 2000))]) }

        for api in API.allCases {
            var times = peers.map { _ in [UInt64]() }
            for _ in 0..<Self.rounds {
                for (index, peer) in peers.enumerated() {
                    times[index] += try await calls(peer, api, busy > 0 ? 400 : 4000)
                }
            }
            for (mode, times) in zip(Self.modes, times) {
                let sorted = times.sorted()
                let fields = [50, 90, 99].map { percent -> (String, Double) in
                    ("p\(percent)_us", Double(sorted[sorted.count * percent / 100]) / 1000)
                }
                print(api.rawValue, place, "calls", "\(mode)", fields)
            }
        }
        for (name, pause) in [("every-1ms", 1_000), ("every-10ms", 10_000)] as [(String, UInt32)] {
            var used = peers.map { _ in [Double]() }
            var burned = peers.map { _ in [Double]() }
            for _ in 0..<Self.rounds {
                for (index, peer) in peers.enumerated() {
                    let before = try await (usage(peer), burnt(neighbours))
                    try await paced(peer, pause, milliseconds: 400)
                    let after = try await (usage(peer), burnt(neighbours))
                    used[index].append(after.0 - before.0)
                    burned[index].append(after.1 - before.1)
                }
            }
            for (index, mode) in Self.modes.enumerated() {
                var fields = [("cpu_ms", median(used[index]) / 1_000_000)]
                if busy > 0 { fields.append(("burned", median(burned[index]))) }
                print("blocking", place, name, "\(mode)", fields)
            }
        }
        for peer in peers + neighbours { await peer.connection.close() }
    }

    private func print(_ api: String, _ place: String, _ work: String, _ mode: String, _ fields: [(String, Double)]) {
        let values = fields.map { "\"\($0.0)\":\(Line.number($0.1))" }.joined(separator: ",")
        put("{\"work\":\"\(work)\",\"cores\":\"\(place)\",\"api\":\"\(api)\",\"polling\":\"\(mode)\",\(values)}")
    }

    private func launch(_ arguments: [String], _ mode: Connection.Polling) async throws -> Peer {
        var configuration = Connection.Configuration()
        configuration.polling = mode
        let connection = try await Connection.launch(executable, arguments: arguments, configuration: configuration)
        return Peer(connection: connection, bench: try await connection.root)
    }

    /// Nanoseconds of each call.
    private func calls(_ peer: Peer, _ api: API, _ count: Int) async throws -> [UInt64] {
        let bench = peer.bench
        let suspending = { @Sendable () async throws -> [UInt64] in
            var times: [UInt64] = []
            for index in 0..<count {
                let start = floorNow()
                let _: Int64 = try await bench.null(Int64(index))
                times.append(floorNow() - start)
            }
            return times
        }
        switch api {
        case .run: return try await peer.connection.run { try await suspending() }
        case .task: return try await Task.detached { try await suspending() }.value
        case .blocking:
            return try await onPlainThread {
                var times: [UInt64] = []
                for index in 0..<count {
                    let start = floorNow()
                    let _: Int64 = try bench.null.blocking(Int64(index))
                    times.append(floorNow() - start)
                }
                return times
            }
        }
    }

    /// Calls with a pause between them.
    private func paced(_ peer: Peer, _ microseconds: UInt32, milliseconds: UInt64) async throws {
        let bench = peer.bench
        try await onPlainThread {
            let end = floorNow() + milliseconds * 1_000_000
            while floorNow() < end {
                let _: Int64 = try bench.null.blocking(1)
                usleep(microseconds)
            }
        }
    }

    /// Nanoseconds of processor time of both sides.
    private func usage(_ peer: Peer) async throws -> Double {
        let other: Int64 = try await peer.bench.usedTime()
        return Double(other + Int64(processorTime()))
    }

    private func burnt(_ neighbours: [Peer]) async throws -> Double {
        var sum: Int64 = 0
        for peer in neighbours { sum += try await peer.bench.burned() as Int64 }
        return Double(sum)
    }
}

/// A process that computes, and says how much it has done.
final class Burner: Vendable {
    static let count = Atomic<Int64>(0)

    @MessageTable<Burner>.Builder static var messages: MessageTable<Burner> {
        Message("burned", Burner.burned)
    }

    func burned() -> Int64 { Self.count.load(ordering: .relaxed) }

    static func serve() async throws {
        let connection = try await Connection.parent()
        connection.vend(Burner())
        _ = floorRunThread({ _ in while true { Burner.count.add(1, ordering: .relaxed) } }, nil)
        _ = await connection.ended
    }
}
