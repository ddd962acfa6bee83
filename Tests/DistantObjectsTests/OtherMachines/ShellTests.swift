import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Connections to another machine by ssh", .bounded(), .enabled(if: ShellServer.isInstalled))
struct ShellTests {
    private struct LedgerInterface: Interface {
        let pid = Signature<Int32>("pid")
        let echo = Signature<[UInt8], [UInt8]>("echo")
    }

    /// A process that listens at a path.
    private static func listener(at path: String) async throws -> ChildProcess {
        let (child, _) = try ChildProcess.launch(builtProgram("killed-peer"), arguments: ["path", path])
        await eventually("it listens") { access(path, F_OK) == 0 || child.exitStatus != nil }
        return child
    }

    /// Has random bytes go there and back, and compares them.
    private static func exchange(over connection: Connection) async throws {
        let seed = TestSeed.next()
        var generator = SeededGenerator(seed: seed)
        let ledger = try await connection.root(named: "ledger")
        for size in [0, 1, 100, 70_000, 3 << 20] {
            let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            let echoed: [UInt8] = try await ledger.echo(bytes)
            #expect(echoed == bytes, "seed \(seed), \(size) bytes")
        }
    }

    @Test("A command there is called over its standard streams, and what is sent arrives")
    func command() async throws {
        let server = try await ShellServer()
        let connection = try await Connection.open(server.command(), configuration: .patient)
        try await Self.exchange(over: connection)
        let pid: Int32 = try await connection.root(named: "tool").pid()
        #expect(connection.peer == nil && connection.child != nil && connection.child?.pid != pid)
        let streams: [String] = try await connection.root(named: "tool").streams()
        #expect(streams.first == "/dev/null")
        await connection.close()
        #expect(connection.child?.exitStatus == .exited(0))
        #expect(connection.name == "\(try server.command())")
    }

    @Test("A socket there is reached by its path, and what is sent arrives")
    func socketPath() async throws {
        let server = try await ShellServer()
        // Characters that mean something to ssh.
        for name in ["s", "a:b\\c%d[e] f"] {
            let listener = try await Self.listener(at: server.folder.path(name))
            let connection = try await Connection.open(server.path(server.folder.path(name)), configuration: .patient)
            try await Self.exchange(over: connection)
            #expect(connection.peer == nil && !connection.isInSharedMemory)
            await connection.close()
            #expect(await connection.child?.waitForExit() != nil)
            listener.kill()
            _ = await listener.waitForExit()
        }
    }

    @Test("A plain thread opens a connection to another machine, too")
    func blockingShell() async throws {
        let server = try await ShellServer()
        let address = try server.command()
        let echoed = try await onThread { () throws -> [UInt8] in
            let connection = try Connection.blockingOpen(address, configuration: .patient)
            defer { connection.invalidate() }
            return try connection.blockingRoot(named: "ledger").message("echo").blocking([7, 8] as [UInt8])
        }
        #expect(echoed == [7, 8])
    }

    @Test("A helper whose ssh is cut or whose process dies is started again over ssh")
    func helperOverShell() async throws {
        let server = try await ShellServer()
        let address = try server.command(ShellServer.peer("crash"))
        let helper = Helper(
            CrasherInterface.self, name: "far", restart: .onFailure(limit: 1_000, backoff: .zero ... .zero)
        ) {
            try await Connection.open(address, configuration: .patient)
        }
        let log = EventLog(helper.events)
        var pids: Set<Int32> = []
        for round in 0..<4 {
            let pid: Int32 = try await helper.remote.pid()
            pids.insert(pid)
            switch round {
            case 0: kill(pid, SIGKILL)
            case 1:
                // The session of the killed process may end a moment later.
                await eventually("one session is left") { server.sessions.count == 1 }
                try server.signalSession(SIGKILL)
            case 2: helper.connection?.child?.kill()
            default: break
            }
            await eventually("its end is noticed") { log.ends.count == min(round + 1, 3) }
        }
        #expect(pids.count == 4)
        await helper.stop()
        let ends = log.ends
        #expect(ends.count == 4 && ends.map(\.isOrderly) == [false, false, false, true], "\(ends)")
        #expect(ends[1].reason.contains("closed the connection") && ends[1].lastErrorLines.contains("closed by"))
        #expect(ends[2].reason.contains("signal 9"))
    }

    @Test("FooBarClient has a server started on another machine, with the settings of the user's ssh")
    func tourOverShell() async throws {
        let server = try await ShellServer()
        // The settings of the user of this machine are left alone.
        let script = "#!/bin/sh\nexec /usr/bin/ssh -F '\(server.folder.path("conf"))' \"$@\"\n"
        // Another process writes it: a program that this one starts meanwhile would keep it open for a moment, and it could not be run.
        let (writer, _) = try ChildProcess.launch(
            "/bin/sh",
            arguments: ["-c", "printf %s \"$1\" >\"$0\" && chmod 700 \"$0\"", server.folder.path("ssh"), script])
        #expect(await writer.waitForExit() == .exited(0))
        var environment = TestTimeout.environment
        environment["PATH"] = "\(server.folder.path):/usr/bin:/bin"
        let variables = environment.filter { $0.key != "PATH" }.map { "\($0.key)=\($0.value) " }.joined()
        let (client, _) = try ChildProcess.launch(
            builtProgram("FooBarClient"),
            arguments: ["--at", "ssh-exec:machine:\(variables)'\(builtProgram("FooBarServer"))'"],
            environment: environment)
        #expect(await client.waitForExit() == .exited(0))
    }

    @Test("A service there that ends in order is no failure, and one that is killed is")
    func endsOfPeer() async throws {
        let server = try await ShellServer()
        let path = server.folder.path("s")
        let listener = try await Self.listener(at: path)
        let connection = try await Connection.open(server.path(path), configuration: .patient)
        listener.kill()
        let end = await connection.ended
        guard case .lost(nil) = end else { throw ShellSurprise(end) }
        let other = try await Connection.open(server.command(), configuration: .patient)
        await #expect(throws: ConnectionError.self) {
            let _: Int = try await other.root(named: "ledger").leave(Int32(7))
        }
        let status = await other.ended
        guard case .lost(.exited(7)?) = status else { throw ShellSurprise(status) }
    }
}

/// An end that a test does not expect.
struct ShellSurprise: Error, CustomStringConvertible {
    let description: String

    init(_ end: ConnectionEnd) { description = "\(end)" }
}
