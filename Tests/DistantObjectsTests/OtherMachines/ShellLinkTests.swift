import DistantObjects
import TestSupport
import Testing

@Suite("Links to another machine that are slow, held, lossy or cut", .bounded(), .enabled(if: ShellServer.isInstalled))
struct ShellLinkTests {
    /// Bytes of a seed.
    private static func bytes(_ size: Int, _ seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    /// Opens a connection through a poor link.
    private static func open(
        _ server: ShellServer, _ link: PoorLink, keepalive: Duration? = nil
    ) async throws -> Connection {
        var configuration = Connection.Configuration.patient
        configuration.keepalive = keepalive
        let options = ["-p", "\(link.port)", "-oHostKeyAlias=[\(server.host)]:\(server.port)"] + server.options
        return try await Connection.open(
            .ssh("machine", command: ShellServer.peer(), options: options, within: TestTimeout.wait),
            configuration: configuration)
    }

    /// Opens a connection that ends when its peer is silent, and looks up a root.
    ///
    /// A peer that gets no time may be silent, too, and the next one is tried then.
    private static func openWatched(
        _ server: ShellServer, _ link: PoorLink, keepalive: Duration
    ) async throws -> (Connection, DistantObject) {
        while true {
            let connection = try await open(server, link, keepalive: keepalive)
            if let ledger = try? await connection.root(named: "ledger") { return (connection, ledger) }
            guard case .failed = await connection.ended else { throw ShellSurprise(await connection.ended) }
        }
    }

    /// Calls again if the peer was too slow for the keepalive.
    private static func repeated<Value>(_ call: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await call() } catch let error as ConnectionError {
                guard error.code == .outcomeUnknown else { throw error }
            }
        }
    }

    @Test("Over a link that delays each part, many calls at a time get their own answers")
    func delayed() async throws {
        let server = try await ShellServer()
        let link = try PoorLink(to: server.port)
        defer { link.close() }
        let connection = try await Self.open(server, link)
        link.set(.delay(milliseconds: 5))
        let ledger = try await connection.root(named: "ledger")
        let seed = TestSeed.next()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, size) in [0, 1, 300, 40_000, 400_000, 7, 90_000].enumerated() {
                group.addTask {
                    let bytes = Self.bytes(size, seed &+ UInt64(index))
                    let echoed: [UInt8] = try await ledger.echo(bytes)
                    #expect(echoed == bytes, "seed \(seed), \(size) bytes")
                }
            }
            try await group.waitForAll()
        }
        link.set(.pass)
        await connection.close()
    }

    @Test("What a link has held arrives when it goes on, unless the silence ends the connection first")
    func held() async throws {
        let server = try await ShellServer()
        let link = try PoorLink(to: server.port)
        defer { link.close() }
        let connection = try await Self.open(server, link)
        let ledger = try await connection.root(named: "ledger")
        let seed = TestSeed.next()
        let bytes = Self.bytes(1 << 20, seed)
        link.set(.hold)
        let answer = Task { try await ledger.message("echo")(bytes) as [UInt8] }
        await eventually("the call is sent") { connection.statistics.questions > 0 }
        link.set(.pass)
        #expect(try await answer.value == bytes, "seed \(seed)")
        await connection.close()

        let (watched, other) = try await Self.openWatched(server, link, keepalive: .milliseconds(200))
        link.set(.hold)
        do {
            _ = try await other.message("echo")(bytes) as [UInt8]
            Issue.record("an answer came")
        } catch let error as ConnectionError {
            #expect([.outcomeUnknown, .closed].contains(error.code), "\(error)")
        }
        guard case .failed(let end) = await watched.ended else { throw ShellSurprise(await watched.ended) }
        #expect("\(end)".contains("has sent nothing for 0.6 seconds"))
        link.set(.pass)
        _ = await watched.child?.waitForExit()
    }

    @Test("A byte that the link loses ends the connection, and no value is wrong")
    func lost() async throws {
        let server = try await ShellServer()
        let link = try PoorLink(to: server.port)
        defer { link.close() }
        for round in 0..<3 {
            // The lost byte may be in the length of ssh's next packet, which then waits for bytes that never come.
            let (connection, ledger) = try await Self.openWatched(server, link, keepalive: .milliseconds(500))
            let seed = TestSeed.next()
            let bytes = Self.bytes(200_000, seed)
            link.set(.loseOne)
            do {
                let echoed: [UInt8] = try await ledger.echo(bytes)
                Issue.record("round \(round): an answer came, and it is \(echoed == bytes ? "right" : "wrong")")
            } catch let error as ConnectionError {
                #expect([.outcomeUnknown, .closed].contains(error.code), "\(error)")
            }
            let end = await connection.ended
            #expect("\(end)" != "\(ConnectionEnd.closedHere)")
            _ = await connection.child?.waitForExit()
        }
    }

    @Test(
        "A link that is taken down is noticed by the silence, and a helper goes on when it is up again",
        .enabled("it needs a network of its own", TestNetwork.isPossible))
    func downAndUp() async throws {
        let network = try await TestNetwork()
        let server = try await ShellServer(in: network)
        var configuration = Connection.Configuration.patient
        configuration.keepalive = .milliseconds(500)
        let address = try server.command(ShellServer.peer("crash"))
        let helper = Helper(
            CrasherInterface.self, name: "far", restart: .onFailure(limit: 1_000, backoff: .zero ... .milliseconds(50))
        ) { [configuration] in
            try await Connection.open(address, configuration: configuration)
        }
        let log = EventLog(helper.events)
        let seed = TestSeed.next()
        let bytes = Self.bytes(500_000, seed)
        let first = try await Self.repeated { try await helper.remote.pid() }
        #expect(try await Self.repeated { try await helper.remote.echo(bytes) } == bytes, "seed \(seed)")
        let count = log.ends.count
        try await network.setLink(isUp: false)
        let call = Task { try await helper.remote.echo(bytes) }
        await eventually("the end is reported") { log.ends.count > count }
        #expect(log.ends[count].reason.contains("has sent nothing for 1.5 seconds"), "\(log.ends)")
        try await network.setLink(isUp: true)
        // If it had not been sent, it has waited for the next process.
        do { #expect(try await call.value == bytes, "seed \(seed)") } catch let error as ConnectionError {
            #expect(error.code == .outcomeUnknown, "\(error)")
        }
        #expect(try await Self.repeated { try await helper.remote.pid() } != first)
        #expect(try await Self.repeated { try await helper.remote.echo(bytes) } == bytes, "seed \(seed)")
        await helper.stop()
    }

    @Test(
        "A link that is down for a moment costs nothing but time",
        .enabled("it needs a network of its own", TestNetwork.isPossible))
    func downForAMoment() async throws {
        let network = try await TestNetwork()
        let server = try await ShellServer(in: network)
        var configuration = Connection.Configuration.patient
        configuration.keepalive = nil
        let connection = try await Connection.open(server.command(), configuration: configuration)
        let ledger = try await connection.root(named: "ledger")
        let seed = TestSeed.next()
        for round in 0..<3 {
            let bytes = Self.bytes(300_000 << round, seed &+ UInt64(round))
            try await network.setLink(isUp: false)
            let answer = Task { try await ledger.message("echo")(bytes) as [UInt8] }
            await eventually("the call is sent") { connection.statistics.questions > 0 }
            try await network.setLink(isUp: true)
            #expect(try await answer.value == bytes, "seed \(seed)")
        }
        await connection.close()
    }
}
