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

/// Each test looks at a whole process, so each runs in a process of its own.
@Suite("What connections to another machine leave behind", .bounded(), .enabled(if: ShellServer.isInstalled))
struct ShellUsageTests {
    /// Opens connections that end in different ways.
    private static func round(_ server: ShellServer, listeningAt path: String) async throws {
        for address in [try server.command(), server.path(path)] {
            for isOrderly in [true, false] {
                let connection = try await Connection.open(address, configuration: .patient)
                let echoed: [UInt8] = try await connection.root(named: "ledger").echo([1, 2, 3] as [UInt8])
                #expect(echoed == [1, 2, 3])
                if isOrderly { await connection.close() } else { connection.invalidate() }
            }
            let connection = try await Connection.open(address, configuration: .patient)
            connection.child?.kill()
            _ = await connection.ended
        }
        for address in [
            try server.command("no-such-program"), server.path(server.folder.path("none")),
            .ssh("m", path: path, options: server.options("wrong.conf")),
        ] {
            await #expect(throws: ConnectionError.self) {
                try await Connection.open(address, configuration: .patient)
            }
        }
    }

    @Test("No descriptor, thread, process or file is left, however a connection ends")
    func shellLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            let temporary = try TemporaryFolder()
            setenv("TMPDIR", temporary.path, 1)
            let server = try await ShellServer()
            let path = server.folder.path("s")
            let (listener, _) = try ChildProcess.launch(builtProgram("killed-peer"), arguments: ["path", path])
            await eventually("it listens") { access(path, F_OK) == 0 }
            // sshd and the listener stay.
            let children = Set(Usage.children)
            try await Self.round(server, listeningAt: path)
            await eventually("all sessions are over") { server.sessions.isEmpty && Set(Usage.children) == children }
            let usage = await ShellUsage()
            try await Self.round(server, listeningAt: path)
            await usage.expectNoMore()
            await eventually("no process is left") { Set(Usage.children) == children }
            await eventually("no session is left") { server.sessions.isEmpty }
            // While a connection to a socket is open, its folder is gone already.
            let connection = try await Connection.open(server.path(path), configuration: .patient)
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
            await connection.close()
            listener.kill()
        }
    }

    @Test(
        "Opening can be cancelled while the other machine does not answer, and ssh is gone then",
        arguments: [false, true])
    func cancelled(isTunnel: Bool) async {
        await #expect(processExitsWith: .success) { [isTunnel] in
            let temporary = try TemporaryFolder()
            setenv("TMPDIR", temporary.path, 1)
            let port = try LocalPort()
            port.acceptAll()
            let options = ["-F", "/dev/null", "-p", "\(port.number)"]
            let address: Connection.Address =
                isTunnel
                ? .ssh("127.0.0.1", path: "/s", options: options) : .ssh("127.0.0.1", command: "true", options: options)
            let opening = Task { try await Connection.open(address, configuration: .patient) }
            await eventually("ssh is connected") { port.hasClient }
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
            await eventually("ssh has ended") { Usage.children.isEmpty }
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
        }
    }

    @Test("Without ssh in PATH, opening says so")
    func noShell() async {
        await #expect(processExitsWith: .success) {
            setenv("PATH", "/none/such:relative", 1)
            let error = await #expect(throws: ConnectionError.self) {
                try await Connection.open(.ssh("machine", command: "worker"))
            }
            #expect(error?.code == .transport && error?.message.contains("no program ssh in the folders") == true)
        }
    }

    #if os(Linux)
        @Test("The ssh of a socket there ends with the process that has started it, even if that is killed")
        func killedOwner() async throws {
            let server = try await ShellServer()
            let path = server.folder.path("s")
            let (listener, _) = try ChildProcess.launch(builtProgram("killed-peer"), arguments: ["path", path])
            await eventually("it listens") { access(path, F_OK) == 0 }
            let note = server.folder.path("note")
            let (owner, _) = try ChildProcess.launch(
                builtProgram("killed-peer"), arguments: ["away", note, "machine", path] + server.options)
            var shell: Int32 = 0
            await eventually("it is connected") {
                shell = Int32(String(decoding: systemContents(of: note), as: UTF8.self).dropLast()) ?? 0
                return shell > 0 || owner.exitStatus != nil
            }
            try #require(shell > 0)
            owner.kill()
            _ = await owner.waitForExit()
            let pid = shell
            await eventually("ssh has ended") { kill(pid, 0) != 0 || Self.isZombie(pid) }
            await eventually("its session is over") { server.sessions.isEmpty }
            listener.kill()
        }

        private static func isZombie(_ pid: Int32) -> Bool {
            String(decoding: systemContents(of: "/proc/\(pid)/stat"), as: UTF8.self).contains(") Z ")
        }
    #endif
}

/// The descriptors and threads at one time.
private struct ShellUsage {
    private let channels = Usage.channels
    private let threads = Usage.threads

    init() async { try? await Task.sleep(for: .milliseconds(1)) }

    func expectNoMore() async {
        await eventually("as few sockets and pipes are open as before") { Usage.channels.count <= channels.count }
        await eventually("as few threads run as before") { Usage.threads <= threads }
    }
}
