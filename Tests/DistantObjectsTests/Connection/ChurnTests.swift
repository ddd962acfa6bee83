import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

/// These tests run in separate processes, because they count the resources of the whole process.
@Suite("Connecting and disconnecting", .serialized, .bounded())
struct ChurnTests {
    @Test("Many clients that connect, call and are cut from either side leave nothing behind")
    func churnInChurn() async {
        await #expect(processExitsWith: .success) {
            let seed = TestSeed.next()
            try await Churn(seed: seed).run(clients: 8, rounds: 40)
        }
    }

    @Test("Connecting while the listener closes either works or fails, and leaves nothing behind")
    func closingListener() async {
        await #expect(processExitsWith: .success) {
            let seed = TestSeed.next()
            let place = try TemporaryFolder()
            try await Churn(seed: seed).measured {
                for round in 0..<60 { try await Self.closeWhileConnecting(place, seed &+ UInt64(round)) }
            }
        }
    }

    private static func closeWhileConnecting(_ place: TemporaryFolder, _ seed: UInt64) async throws {
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let accepted = Mutex<[Connection]>([])
        let serving = Task {
            for await connection in listener {
                connection.vend(Directory())
                accepted.withLock { $0.append(connection) }
            }
        }
        var random = SeededGenerator(seed: seed)
        let pause = random.below(3_000)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    for _ in 0..<4 {
                        do {
                            let connection = try await Connection.open(.path(place.socket), configuration: .patient)
                            let back: Int? = try? await connection.root.echo(3)
                            #expect(back == nil || back == 3)
                            connection.invalidate()
                            _ = await connection.ended
                            #expect(connection.statistics.isAtRest, "seed \(seed)")
                        } catch {
                            #expect(error is ConnectionError, "seed \(seed): \(error)")
                        }
                    }
                }
            }
            group.addTask {
                for _ in 0..<pause { await Task.yield() }
                listener.close()
            }
        }
        await serving.value
        for connection in accepted.withLock({ $0 }) {
            connection.invalidate()
            _ = await connection.ended
            #expect(connection.statistics.isAtRest, "seed \(seed)")
        }
    }
}

/// A server, its clients, and the resources they use.
private final class Churn: Sendable {
    private let seed: UInt64
    private let served = Signal()
    private let servedEnded = Signal()
    private let opened = Signal()
    private let openedEnded = Signal()

    init(seed: UInt64) {
        self.seed = seed
    }

    /// Runs the body twice and compares the use of resources after each, so that cached resources do not count.
    func measured(_ body: @Sendable () async throws -> Void) async throws {
        try await body()
        let before = Usage.channels
        let descriptors = Usage.descriptors
        try await body()
        // The last descriptors are closed on the loop, shortly after the end was reported.
        await eventually("seed \(seed): as few sockets and pipes are open as before") {
            Usage.channels.count <= before.count
        }
        #expect(Usage.channels.count <= before.count, "seed \(seed): \(Usage.channels) after \(before)")
        // The rest are the loop's, and a few pollers that are kept for blocking calls.
        #expect(Usage.descriptors < descriptors + 40, "seed \(seed)")
        // The watchdog, the loop's threads, the task pool's threads and the tests' own.
        await eventually("seed \(seed): few threads run") { Usage.threads < 64 }
    }

    func run(clients: Int, rounds: Int) async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener { serve(connection) }
        }
        try await measured {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<clients {
                    group.addTask {
                        try await self.client(place.socket, rounds, SeededGenerator(seed: self.seed ^ UInt64(client)))
                    }
                }
                try await group.waitForAll()
            }
            await self.openedEnded.wait(for: self.opened.count)
            await self.servedEnded.wait(for: self.served.count)
        }
        #expect(served.count <= opened.count && opened.count == 2 * clients * rounds, "seed \(seed)")
        listener.close()
        await serving.value
    }

    private func serve(_ connection: Connection) {
        served.send()
        connection.vend(Target(connection))
        Task {
            _ = await connection.ended
            #expect(connection.statistics.isAtRest, "seed \(seed): \(connection.statistics)")
            servedEnded.send()
        }
    }

    private func client(_ path: String, _ rounds: Int, _ generator: SeededGenerator) async throws {
        var random = generator
        for _ in 0..<rounds {
            let connection = try await Connection.open(.path(path), configuration: .patient)
            opened.send()
            let work = random.next()
            let calls = Task { await self.call(connection, SeededGenerator(seed: work)) }
            let cut = random.below(4)
            for _ in 0..<random.below(400) { await Task.yield() }
            switch cut {
            case 0: connection.invalidate()
            case 1: await connection.close(timeout: .milliseconds(random.below(20)))
            case 2: try? await connection.root.cut.oneWay()
            default:
                try? await connection.root.cut.oneWay()
                connection.invalidate()
            }
            await calls.value
            _ = await connection.ended
            #expect(connection.statistics.isAtRest, "seed \(seed): \(connection.statistics)")
            openedEnded.send()
        }
    }

    /// Makes calls of every kind until the connection has ended.
    private func call(_ connection: Connection, _ generator: SeededGenerator) async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: self.seed ^ UInt64(index))
                    do {
                        let root = try await connection.root
                        while true { try await self.step(root, &random) }
                    } catch {
                        // A method's own call back to this side may have failed.
                        let isOurs = (error as? RemoteError)?.typeName == "ConnectionError"
                        #expect(error is ConnectionError || isOurs, "seed \(self.seed): \(error)")
                    }
                }
            }
            group.addTask {
                _ = try? await onThread {
                    let root = try connection.blockingRoot()
                    while true { let _: Int = try root.echo.blocking(1) }
                }
            }
        }
    }

    private func step(_ root: DistantObject, _ random: inout SeededGenerator) async throws {
        switch random.below(6) {
        case 0: let _: Int = try await root.echo(random.below(100))
        case 1: try await root.note.oneWay(1)
        case 2: let _: Int = try await root.callBack(Observer())
        case 3: let _: [UInt8] = try await root.bytes([UInt8](repeating: 1, count: random.below(200_000)))
        case 4:
            do {
                let _: Int = try await root.message("think")(timeout: .milliseconds(random.below(3)))
            } catch let error as ConnectionError where error.code == .deadlineExceeded {
            }
        default: let _: DistantObject = try await root.made()
        }
    }
}

/// The object that the clients call.
private final class Target: Vendable {
    /// The connection holds this object until it ends.
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    static var messages: MessageTable<Target> {
        Message("echo", Target.echo)
        Message("note", Target.note)
        Message("callBack", Target.callBack)
        Message("bytes", Target.bytes)
        Message("think", Target.think)
        Message("made", Target.made)
        Message("cut", Target.cut)
    }

    func echo(_ number: Int) -> Int { number }
    func note(_ number: Int) {}
    func bytes(_ bytes: [UInt8]) -> [UInt8] { bytes }
    func made() -> Observer { Observer() }
    func cut() { connection.invalidate() }

    func callBack(_ observer: DistantObject) async throws -> Int {
        try await observer.note("a")
        return try await observer.count()
    }

    func think() async -> Int {
        await Task.yield()
        return 1
    }
}
