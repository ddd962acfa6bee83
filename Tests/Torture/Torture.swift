import CShortIO
import DistantObjects
import Foundation
import PortTransport
import Synchronization

/// Sends random traffic of every kind between two processes, over every transport in turn, and compares every byte.
///
///     torture [--seconds 60] [--round 4] [--stall 120] [--seed N] [--only socket|pipes|shared|memory]
///
/// A round lasts a few seconds, with sizes that follow from its seed. Ends with status 3 if a value is wrong, something is
/// left at the end of a round, or a connection ends, and with 5 if nothing goes on for `--stall` seconds. A failure names the seed of its round:
/// `--seed` with it and `--only` repeat the traffic, though not its timing.
@main
struct Torture {
    private static let usage =
        "usage: torture [--seconds N] [--round N] [--stall N] [--seed N] [--only socket|pipes|shared|memory]"

    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        var seconds = 60.0
        var round = 4.0
        var stall = 120
        var seed = UInt64.random(in: 1..<1 << 40)
        var transports = RoundSettings.Transport.allCases
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            let value = words.popFirst() ?? ""
            switch word {
            case "serve": return await serve(value)
            case "--seconds": seconds = Double(value) ?? seconds
            case "--round": round = Double(value) ?? round
            case "--stall": stall = Int(value) ?? stall
            case "--seed": seed = UInt64(value) ?? seed
            case "--only": transports = RoundSettings.Transport(rawValue: value).map { [$0] } ?? []
            default: transports = []
            }
        }
        guard !transports.isEmpty else {
            Verdict.say(usage)
            exit(2)
        }
        watch(for: stall)
        let start = ContinuousClock.now
        var index = 0
        var operations: UInt64 = 0
        while start.duration(to: .now) < .seconds(seconds) {
            let settings = RoundSettings(
                transports[index % transports.count], seed: seed &+ UInt64(index / transports.count))
            operations += await play(settings, seconds: min(round, seconds))
            index += 1
        }
        print("torture: \(operations) operations in \(index) rounds from seed \(seed), every byte as it should be")
    }

    /// Ends the process if nothing goes on for so many seconds.
    private static func watch(for seconds: Int) {
        Thread.detachNewThread {
            var last = Verdict.operations.load(ordering: .relaxed)
            var quiet = 0
            while true {
                sleep(1)
                let now = Verdict.operations.load(ordering: .relaxed)
                quiet = now == last ? quiet + 1 : 0
                guard quiet < seconds else {
                    Verdict.say("torture: nothing goes on in \(Verdict.round.withLock { $0 })")
                    exit(5)
                }
                last = now
            }
        }
    }

    /// Opens a connection, has both sides send, and closes it.
    ///
    /// - Returns: The number of operations of both sides.
    private static func play(_ settings: RoundSettings, seconds: Double) async -> UInt64 {
        Verdict.round.withLock { $0 = settings.description }
        do {
            let (connection, other) = try await connect(settings)
            short_io_begin(settings.isCut ? settings.seed | 1 : 0)
            let operations = try await drive(connection, settings, seed: settings.seed, seconds, asksOther: true)
            short_io_begin(0)
            await rest(connection)
            await connection.close(timeout: .seconds(600))
            if let other {
                _ = await other.ended
                guard other.statistics.isAtRest else {
                    Verdict.fail("at the end the other side has \(other.statistics)")
                }
                check(other.outstandingMessageBytes)
            }
            if let child = connection.child {
                let status = await child.waitForExit()
                guard case .exited(0) = status else { Verdict.fail("the other process ended: \(status)") }
            }
            guard connection.statistics.isAtRest else {
                Verdict.fail("at the end this side has \(connection.statistics)")
            }
            return operations
        } catch {
            Verdict.fail("\(error)")
        }
    }

    /// Waits until nothing is left but what the peer keeps, as long as something changes: releases come shortly after the last
    /// use.
    private static func rest(_ connection: Connection) async {
        var end = ContinuousClock.now + .seconds(120)
        var last = Left(connection)
        while !last.isNothing, ContinuousClock.now < end {
            guard (try? await connection.ping()) != nil else { break }
            let left = Left(connection)
            if left != last { end = .now + .seconds(120) }
            last = left
        }
        guard connection.statistics.isAtRest else { Verdict.fail("after all calls there are \(connection.statistics)") }
        check(connection.outstandingMessageBytes)
    }

    /// What a connection has under way.
    private struct Left: Equatable {
        let entries: [Int]
        let incoming: UInt64
        let outgoing: UInt64

        init(_ connection: Connection) {
            let statistics = connection.statistics
            entries = [
                statistics.exports, statistics.imports, statistics.questions, statistics.answers, statistics.pending,
                statistics.streams, statistics.blobs,
            ]
            (incoming, outgoing) = connection.outstandingMessageBytes
        }

        var isNothing: Bool { entries.allSatisfy { $0 == 0 } && incoming == 0 && outgoing == 0 }
    }

    /// Fails if not all bytes of large messages were counted as consumed.
    private static func check(_ outstanding: (incoming: UInt64, outgoing: UInt64)) {
        guard outstanding == (0, 0) else {
            let (incoming, outgoing) = (Int64(bitPattern: outstanding.incoming), outstanding.outgoing)
            Verdict.fail("after all calls \(incoming) incoming and \(outgoing) outgoing bytes are not consumed")
        }
    }

    /// - Returns: The connection, and its other end if that is in this process.
    private static func connect(_ settings: RoundSettings) async throws -> (Connection, Connection?) {
        var configuration = settings.configuration
        configuration.roots = ["": root]
        guard settings.transport == .memory else {
            let connection = try await Connection.launch(
                CommandLine.arguments[0], arguments: ["serve", settings.text],
                over: settings.transport == .pipes ? .pipes : .socketpair, configuration: configuration)
            return (connection, nil)
        }
        let (first, second) = MemoryLink.pair(
            seed: settings.isCut ? settings.seed : nil, capacity: settings.sizes.ring)
        let connections = try [(first, true), (second, false)].map { endpoint, isInitiator in
            let connection = try Connection.make(endpoint, configuration, isInitiator: isInitiator)
            connection.begin()
            return connection
        }
        for connection in connections { try await connection.handshake() }
        return (connections[0], connections[1])
    }

    private static var root: Host {
        Host(Traffic.rootNumber) { settings, seed, seconds in
            guard let connection = Connection.current else { Verdict.fail("a method has no connection") }
            return try await drive(connection, settings, seed: seed, seconds, asksOther: false)
        }
    }

    /// Has tasks and threads send at the same time.
    private static func drive(
        _ connection: Connection, _ settings: RoundSettings, seed: UInt64, _ seconds: Double, asksOther: Bool
    ) async throws -> UInt64 {
        let host = try await connection.root(as: HostInterface.self)
        let end = ContinuousClock.now + .seconds(seconds)
        return try await withThrowingTaskGroup(of: UInt64.self) { group in
            for index in 0..<7 {
                var traffic = Traffic(
                    connection: connection, host: host, own: Host(seed), settings: settings,
                    random: SeededGenerator(seed: Pattern.mixed(seed, index)))
                if index < 5 {
                    group.addTask { await traffic.run(until: end) }
                } else {
                    group.addTask { [traffic] in
                        await onPlainThread {
                            var traffic = traffic
                            return traffic.block(until: end)
                        }
                    }
                }
            }
            if asksOther {
                group.addTask { try await host.drive(settings.text, Pattern.mixed(seed, 100), seconds) }
            }
            return try await group.reduce(0, +)
        }
    }

    private static func onPlainThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    /// The other process.
    private static func serve(_ text: String) async {
        guard let settings = RoundSettings(text) else { exit(2) }
        Verdict.round.withLock { $0 = "the other process: \(settings)" }
        do {
            var configuration = settings.configuration
            configuration.roots = ["": root]
            let connection = try await Connection.parent(configuration: configuration)
            short_io_begin(settings.isCut ? ~settings.seed | 1 : 0)
            _ = await connection.ended
            guard connection.statistics.isAtRest else { Verdict.fail("at the end there are \(connection.statistics)") }
            check(connection.outstandingMessageBytes)
        } catch {
            Verdict.fail("\(error)")
        }
    }
}
