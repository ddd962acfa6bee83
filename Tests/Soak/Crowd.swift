import DistantObjects
import Foundation
import PortTransport

/// Many connections to one service: most are idle, some are busy, and others come and go.
///
///     soak crowd [--idle 5000] [--busy 200] [--seconds 5]
///
/// Prints how many connections were opened and calls answered in a second. Each answer is compared. Ends with status 3 if one is wrong,
/// if a connection is refused or lost, or if the service does not get back to the descriptors and tables of its beginning.
struct Crowd {
    var idle = 5_000
    var busy = 200
    var seconds = 5.0

    init(_ words: [String]) {
        var words = words[...]
        while let word = words.popFirst() {
            let value = words.popFirst() ?? ""
            switch word {
            case "--idle": idle = Int(value) ?? idle
            case "--busy": busy = Int(value) ?? busy
            case "--seconds": seconds = Double(value) ?? seconds
            default: Verdict.fail("crowd has --idle, --busy and --seconds, not “\(word)”")
            }
        }
    }

    /// Connections of one process, which the service would otherwise refuse beyond a part of its limit.
    private static var configuration: Connection.Configuration {
        var configuration = Connection.Configuration.patient
        configuration.limits.connections = 20_000
        configuration.limits.connectionsOfPeer = 20_000
        return configuration
    }

    /// Lets this process have as many descriptors as the system allows.
    ///
    /// - Returns: Their number.
    private static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(limit.rlim_cur)
    }

    /// Runs as the service at a path.
    static func serve(_ path: String) async throws {
        _ = raiseLimit()
        try await Ledger.serve(.path(path), configuration)
    }

    func run() async throws {
        // A busy connection has up to three descriptors, with shared memory; some are for the process itself.
        let room = Self.raiseLimit() - 3 * busy - 200
        let count = min(idle, room)
        if count < idle { print("crowd: descriptors are for \(count) idle connections only") }
        let folder = NSTemporaryDirectory() + "/crowd-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/s"
        let (service, _) = try ChildProcess.launch(CommandLine.arguments[0], arguments: ["crowd-service", path])
        while access(path, F_OK) != 0 {
            guard service.exitStatus == nil else { Verdict.fail("the service does not listen") }
            try await Task.sleep(for: .milliseconds(10))
        }
        let address = ConnectionAddress.path(path)
        let watcher = try await Connection.open(address, configuration: Self.configuration)
        let root = try await watcher.root(as: LedgerInterface.self)
        let before = try await root.use()

        let alone = try await keepBusy(address, besides: 0)
        let start = ContinuousClock.now
        let crowd = try await open(count, address)
        let time = ContinuousClock.now - start
        print("crowd: \(count) connections opened in \(time), \(rate(count, time)) in a second")
        let beside = try await keepBusy(address, besides: count)
        print(
            "crowd: calls beside \(count) idle connections to those without: \(String(format: "%.2f", beside / alone))")
        try await comeAndGo(address)
        try await use(crowd)

        for connection in crowd { connection.invalidate() }
        let end = ContinuousClock.now + .seconds(60)
        // The loop and Dispatch open some when they need them first, and keep them.
        while case let now = try await root.use(), now[0] > before[0] + 8 || now[2] > before[2] || now[3] > before[3] {
            guard ContinuousClock.now < end else { Verdict.fail("the service had \(before), and has \(now)") }
            try await Task.sleep(for: .milliseconds(50))
        }
        await watcher.close()
        service.kill()
        _ = await service.waitForExit()
    }

    private func rate(_ count: Int, _ time: Duration) -> Int { Int(Double(count) / (time / .seconds(1))) }

    /// Opens connections, sixteen at a time.
    private func open(_ count: Int, _ address: ConnectionAddress) async throws -> [Connection] {
        try await withThrowingTaskGroup(of: [Connection].self) { group in
            for part in 0..<16 {
                group.addTask {
                    var connections: [Connection] = []
                    for _ in 0..<(count / 16 + (part < count % 16 ? 1 : 0)) {
                        connections.append(try await Connection.open(address, configuration: Self.configuration))
                    }
                    return connections
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Has the busy clients call for some time.
    ///
    /// - Returns: The calls in a second.
    private func keepBusy(_ address: ConnectionAddress, besides count: Int) async throws -> Double {
        let connections = try await open(busy, address)
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let calls = try await withThrowingTaskGroup(of: Int.self) { group in
            for (number, connection) in connections.enumerated() {
                group.addTask {
                    let root = try await connection.root(as: LedgerInterface.self)
                    var calls = 0
                    while ContinuousClock.now < end {
                        let bytes = (0..<64).map { UInt8(truncatingIfNeeded: number &* 7 &+ calls &* $0) }
                        guard try await root.echo(bytes) == bytes.reversed() else { Verdict.fail("an answer is wrong") }
                        calls += 1
                    }
                    return calls
                }
            }
            return try await group.reduce(0, +)
        }
        let time = ContinuousClock.now - start
        print("crowd: \(busy) clients beside \(count) idle ones: \(rate(calls, time)) calls in a second")
        for connection in connections { await connection.close() }
        return Double(calls) / (time / .seconds(1))
    }

    /// Connects, calls once and closes again and again, eight at a time.
    private func comeAndGo(_ address: ConnectionAddress) async throws {
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var count = 0
                    while ContinuousClock.now < end {
                        let connection = try await Connection.open(address, configuration: Self.configuration)
                        let root = try await connection.root(as: LedgerInterface.self)
                        let bytes = [UInt8(truncatingIfNeeded: count), 1, 2]
                        guard try await root.echo(bytes) == bytes.reversed() else { Verdict.fail("an answer is wrong") }
                        await connection.close()
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        let time = ContinuousClock.now - start
        print("crowd: \(rate(count, time)) clients in a second connected, called and closed")
    }

    /// Calls over each connection once.
    private func use(_ crowd: [Connection]) async throws {
        for (number, connection) in crowd.enumerated() {
            let bytes = [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            let answer = try await connection.root(as: LedgerInterface.self).echo(bytes)
            guard answer == bytes.reversed() else { Verdict.fail("idle connection \(number) gave a wrong answer") }
        }
        print("crowd: all \(crowd.count) idle connections have answered")
    }
}
