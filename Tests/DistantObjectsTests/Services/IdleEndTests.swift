import CPortShims
import DistantObjects
import DistantTesting
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Processes that end when they are idle", .bounded())
struct IdleEndTests {
    @Test("A helper that ends when it is idle is started by the next call, and no call is lost")
    func idleHelper() async throws {
        let seed = TestSeed.next()
        var generator = SeededGenerator(seed: seed)
        var options = HelperOptions()
        options.arguments = ["crash", "2"]
        options.configuration = .patient
        // On a busy machine it may have ended before this process has seen that it is connected, which counts as a failed start.
        let policy = RestartPolicy.onFailure(limit: .max, backoff: .zero ... .zero)
        let helper = Helper(
            CrasherInterface.self, try builtProgram("killed-peer"), restart: policy, options: options)
        let log = EventLog(helper.events)
        // Until calls have met several ends, some of them just at that moment.
        while log.ends.count < 20 {
            let bytes = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(try await helper.remote.echo(bytes) == bytes, "seed \(seed)")
            try await Task.sleep(for: .microseconds(Int.random(in: 0...4_000, using: &generator)))
        }
        #expect(log.ends.allSatisfy { $0.status == .exited(0) }, "\(log.ends)")
        await helper.stop()
    }

    @Test("A connection with a call, a stream or a reference is not idle, and one with a root alone is")
    func use() throws {
        let loop = TestLoop()
        let pair = try ConnectionPair(on: loop)
        let (client, server) = (pair.first, pair.second)
        server.vend(Gate())
        let gate = try loop.run { try await client.root }
        server.closeWhenIdle(for: .seconds(60))
        let answer = Mutex(0)
        loop.task {
            let value: Int = (try? await gate.hold(7)) ?? -1
            answer.withLock { $0 = value }
        }
        loop.advance(by: .seconds(600))
        let stream: DistantStream<Int> = try loop.run { try await gate.count() }
        try loop.run { try await gate.open() as Void }
        #expect(answer.withLock { $0 } == 7)
        loop.advance(by: .seconds(600))
        var object: DistantObject? = try loop.run { try await gate.part() }
        let numbers = try loop.run { try await stream.all() }
        #expect(numbers == [1, 2, 3])
        loop.advance(by: .seconds(600))
        let part: Int = try loop.run { [object] in try await object?.value() ?? 0 }
        #expect(part == 5)
        object = nil
        loop.advance(by: .seconds(59))
        #expect(server.statistics.exports == 1)
        // A call within the limit, and pings without end: only the call is a use.
        let echoed: Int = try loop.run { try await gate.hold(8) }
        #expect(echoed == 8)
        for _ in 0..<29 {
            loop.advance(by: .seconds(2))
            try loop.run { try await client.ping() }
        }
        for _ in 0..<10 {
            loop.advance(by: .seconds(2))
            // Ends at one of these.
            _ = try? loop.run { try await client.ping() }
        }
        let end = try loop.run { await client.ended }
        guard case .closedByPeer = end else {
            Issue.record("it has ended otherwise: \(end)")
            return
        }
    }

    /// A root whose calls last as long as the test wants.
    final class Gate: Vendable {
        private let (gate, opener) = AsyncStream.makeStream(of: Void.self)

        static var messages: MessageTable<Gate> {
            Message("hold", Gate.hold)
            Message("open") { gate in { () -> Void in gate.opener.finish() } }
            Message("count") { _ in { DistantStream([1, 2, 3]) } }
            Message("part") { _ in { DistantObject(standingFor: Part()) } }
        }

        func hold(_ value: Int) async -> Int {
            for await _ in gate {}
            return value
        }
    }

    final class Part: Vendable {
        static var messages: MessageTable<Part> { Message("value") { _ in { 5 } } }
    }

    /// Uses a connection to a service that ends when it is idle for two milliseconds.
    ///
    /// It can always be opened. If the client then does not use it for so long, which is likely on a busy machine, its next call fails
    /// without having run.
    private static func use(
        _ address: Connection.Address, _ body: (Connection) async throws -> Int32
    ) async throws -> Int32 {
        while true {
            let connection: Connection
            do { connection = try await Connection.open(address, configuration: .patient) } catch {
                Issue.record("it cannot be opened: \(error)")
                throw error
            }
            do {
                let result = try await body(connection)
                await connection.close()
                return result
            } catch let error as ConnectionError {
                let end = await connection.ended
                if case .closedByPeer = end, error.isSafeToRetry { continue }
                Issue.record("\(error), after \(end)")
                throw error
            }
        }
    }

    @Test("A service that ends when it is idle loses no client that comes at that moment")
    func idleService() async {
        await #expect(processExitsWith: .success) {
            let seed = TestSeed.next()
            var generator = SeededGenerator(seed: seed)
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let program = try ServiceProgram("brief", "idle=2")
            var pids: Set<Int32> = []
            while pids.count < 15 {
                let clients = Int.random(in: 1...4, using: &generator)
                let found = try await withThrowingTaskGroup(of: Int32.self) { group in
                    for client in 0..<clients {
                        let pause = Duration.microseconds(Int.random(in: 0...4_000, using: &generator))
                        group.addTask {
                            try await Task.sleep(for: pause)
                            let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* client &+ client) }
                            return try await Self.use(program.address) { connection in
                                let ledger = try await connection.root
                                let echoed: [UInt8] = try await ledger.echo(bytes)
                                #expect(echoed == bytes)
                                return try await ledger.pid()
                            }
                        }
                    }
                    return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
                }
                pids.formUnion(found)
            }
            await eventually("the last one ends, too") { Usage.children.isEmpty }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("distant")).isEmpty)
        }
    }

    @Test("A service whose socket belongs to a service manager loses none, either, and leaves the socket")
    func activatedService() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let seed = TestSeed.next()
            var generator = SeededGenerator(seed: seed)
            let manager = try Activator(at: folder.socket, ["server", "2"])
            let serving = Task { try await manager.run() }
            var pids: Set<Int32> = []
            while pids.count < 15 {
                let pid = try await Self.use(.path(folder.socket)) { try await $0.root(named: "tool").pid() }
                pids.insert(pid)
                // Sometimes longer than it takes to be idle.
                try await Task.sleep(for: .microseconds(Int.random(in: 0...5_000, using: &generator)))
            }
            serving.cancel()
            _ = try? await serving.value
            #expect(access(folder.socket, F_OK) == 0)
        }
    }

    /// Keeps a listening socket, and starts a program for it whenever somebody connects and none runs, as systemd does.
    private struct Activator {
        let socket: CInt
        let arguments: [String]

        init(at path: String, _ arguments: [String]) throws {
            self.arguments = arguments
            socket = port_bind(path, 0o600)
            try #require(socket >= 0 && port_listen(socket, 64) == 0)
        }

        func run() async throws {
            while !Task.isCancelled {
                var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard poll(&event, 1, 10) > 0 else { continue }
                var options = ChildProcess.Options()
                options.descriptors = ["x": socket]
                // The shell gives its number to the program in its place.
                let script = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\" 3<&4 4<&-"
                let (child, _) = try ChildProcess.launch(
                    "/bin/sh", arguments: ["-c", script, try builtProgram("killed-peer")] + arguments, options: options)
                let status = await child.waitForExit()
                #expect(status == .exited(0))
            }
        }
    }

    @Test(
        "systemd-socket-activate starts a process for each connection, which it accepts",
        .enabled(if: FileManager.default.isExecutableFile(atPath: activator)))
    func acceptedByManager() async throws {
        let folder = try TemporaryFolder()
        let environment = ProcessInfo.processInfo.environment
        let library = environment["LD_LIBRARY_PATH"].map { ["--setenv=LD_LIBRARY_PATH=\($0)"] } ?? []
        let (manager, _) = try ChildProcess.launch(
            Self.activator,
            arguments: library + [
                "--accept", "--listen=\(folder.socket)", try builtProgram("killed-peer"), "activated",
            ])
        defer { manager.kill() }
        var pids: Set<Int32> = []
        for client in 0..<3 {
            let connection = try await Connection.open(
                .path(folder.socket), timeout: TestTimeout.wait, configuration: .patient)
            let tool = try await connection.root(named: "tool")
            let pid: Int32 = try await tool.pid()
            pids.insert(pid)
            #expect(pids.count == client + 1)
            await connection.close()
        }
    }

    private static let activator = "/usr/bin/systemd-socket-activate"
}
