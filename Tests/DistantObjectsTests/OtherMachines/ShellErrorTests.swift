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

@Suite("Errors of connections to another machine", .bounded(), .enabled(if: ShellServer.isInstalled))
struct ShellErrorTests {
    private static func failure(_ address: Connection.Address) async -> ConnectionError? {
        do {
            let connection = try await Connection.open(address, configuration: .patient)
            Issue.record("\(address) was opened")
            connection.invalidate()
            return nil
        } catch { return error as? ConnectionError }
    }

    /// Checks that opening fails with a code, and with both a sentence and what ssh says.
    private static func expect(
        _ address: Connection.Address, _ code: TransportError.Code, _ parts: String...,
        location: SourceLocation = #_sourceLocation
    ) async {
        let error = await failure(address)
        #expect((error?.underlying as? TransportError)?.code == code, "\(error as Any)", sourceLocation: location)
        for part in parts {
            #expect(error?.message.contains(part) == true, "\(error as Any)", sourceLocation: location)
        }
    }

    @Test("A host key that is unknown or has changed, and a wrong key of the user, are told apart")
    func keys() async throws {
        let server = try await ShellServer()
        for isTunnel in [false, true] {
            func address(_ configuration: String) -> Connection.Address {
                let options = server.options(configuration)
                return isTunnel ? .ssh("m", path: "/s", options: options) : .ssh("m", command: "true", options: options)
            }
            await Self.expect(
                address("unknown.conf"), .accessDenied, "host key of m is not known", "“Host key verification failed.”")
            await Self.expect(
                address("changed.conf"), .accessDenied, "host key of m is another one",
                "“Host key verification failed.”")
            await Self.expect(
                address("wrong.conf"), .accessDenied, "m does not let this user in", "Permission denied (publickey)")
        }
    }

    @Test("A port at which nobody listens, a name that does not exist, and a machine that is silent are told apart")
    func machines() async throws {
        let server = try await ShellServer()
        let port = try LocalPort()
        await Self.expect(
            .ssh("m", command: "true", options: ["-p", "\(port.number)"] + server.options), .unreachable,
            "m refuses connections", "Connection refused”")
        await Self.expect(
            .ssh("m", command: "true", options: ["-oHostName=no..name"] + server.options), .unreachable,
            "no machine of the name m", "Could not resolve hostname")
        port.acceptAll()
        await Self.expect(
            .ssh("m", command: "true", options: ["-p", "\(port.number)", "-oConnectTimeout=1"] + server.options),
            .unreachable, "m does not answer", "timed out")
    }

    @Test("A command that does not exist, that ends early, or that prints first is the reason of the error")
    func shellCommands() async throws {
        let server = try await ShellServer()
        let unknown = await Self.failure(try server.command("no-such-program --flag"))
        #expect(unknown?.code == .closed, "\(unknown as Any)")
        #expect(unknown?.message.contains("no such command on machine") == true, "\(unknown as Any)")
        #expect(unknown?.message.contains("“env: 'no-such-program': No such file or directory”") == true)
        let early = await Self.failure(try server.command(ShellServer.peer("complain", "3")))
        #expect(early?.message.contains("has ended with status 3") == true, "\(early as Any)")
        #expect(early?.message.contains("“something is wrong”") == true)
        let killed = await Self.failure(try server.command("sh -c 'kill -9 $$'"))
        #expect(killed?.message.contains("when a signal has ended the command") == true, "\(killed as Any)")
        let talking = await Self.failure(try server.command("sh -c 'echo Welcome to this machine, which is nice; cat'"))
        #expect(talking?.code == .protocolViolation, "\(talking as Any)")
        #expect(talking?.message.contains("must not go to standard output") == true, "\(talking as Any)")
    }

    @Test("A socket there that does not exist, or at which nobody listens, is a clear error")
    func sockets() async throws {
        let server = try await ShellServer()
        await Self.expect(
            server.path(server.folder.path("none")), .nobodyListens, "nobody listens at this socket on machine",
            "open failed")
        let stale = server.folder.path("stale")
        let (listener, _) = try ChildProcess.launch(builtProgram("killed-peer"), arguments: ["path", stale])
        await eventually("it listens") { access(stale, F_OK) == 0 }
        listener.kill()
        _ = await listener.waitForExit()
        await Self.expect(server.path(stale), .nobodyListens, "nobody listens at this socket on machine", "open failed")
    }

    @Test(
        "A session that stops without a word is noticed by keepalive, and each call says so", arguments: [false, true])
    func silence(isTunnel: Bool) async throws {
        // On a busy machine a peer may be silent before it is stopped; then the next one is.
        while try await !stopsSession(ShellServer(), isTunnel) {}
    }

    /// Stops a session during a call, and looks at the end; false if it had ended before.
    private func stopsSession(_ server: ShellServer, _ isTunnel: Bool) async throws -> Bool {
        let (connection, listener) = try await open(server, isTunnel, keepalive: .milliseconds(200))
        defer { listener?.kill() }
        guard let ledger = try? await connection.root(named: "ledger"), let session = server.sessions.first else {
            guard case .failed = await connection.ended else { throw ShellSurprise(await connection.ended) }
            return false
        }
        let call = Task { () -> ConnectionError? in
            do { try await ledger.message("wait")(server.folder.path("never")) as Void } catch {
                return error as? ConnectionError
            }
            return nil
        }
        await eventually("the call is sent") { connection.statistics.framesOut > 1 }
        _ = kill(session, SIGSTOP)
        let error = await call.value
        #expect(error?.message.contains("has sent nothing for 0.6 seconds") == true, "\(error as Any)")
        guard case .failed(let end) = await connection.ended else { throw ShellSurprise(await connection.ended) }
        #expect("\(end)".contains("has sent nothing"))
        // ssh ends with the connection, although its peer does not.
        _ = await connection.child?.waitForExit()
        _ = kill(session, SIGKILL)
        return true
    }

    @Test("A session that is killed in the middle of a call is named in its error", arguments: [false, true])
    func lostLink(isTunnel: Bool) async throws {
        let server = try await ShellServer()
        let (connection, listener) = try await open(server, isTunnel, keepalive: nil)
        let ledger = try await connection.root(named: "ledger")
        let call = Task { () -> ConnectionError? in
            do { try await ledger.message("wait")(server.folder.path("never")) as Void } catch {
                return error as? ConnectionError
            }
            return nil
        }
        await eventually("the call is sent") { connection.statistics.questions > 0 }
        try server.signalSession(SIGKILL)
        let error = await call.value
        #expect(error?.code == .outcomeUnknown && error?.context?.contains("machine") == true, "\(error as Any)")
        let end = await connection.ended
        guard case .failed(let reason as ConnectionError) = end else { throw ShellSurprise(end) }
        #expect((reason.underlying as? TransportError)?.code == .unreachable)
        #expect(reason.message.contains("machine has closed the connection; ssh says “"), "\(reason)")
        // The ssh of a socket is asked to end when its output has, and has status 0 then if it is just ending by itself.
        let status = await connection.child?.waitForExit()
        #expect(status == .exited(255) || isTunnel, "\(status as Any)")
        listener?.kill()
    }

    private func open(
        _ server: ShellServer, _ isTunnel: Bool, keepalive: Duration?
    ) async throws -> (Connection, ChildProcess?) {
        var configuration = Connection.Configuration.patient
        configuration.keepalive = keepalive
        guard isTunnel else {
            return (try await Connection.open(server.command(), configuration: configuration), nil)
        }
        let path = server.folder.path("s")
        let (listener, _) = try ChildProcess.launch(builtProgram("killed-peer"), arguments: ["path", path])
        await eventually("it listens") { access(path, F_OK) == 0 }
        return (try await Connection.open(server.path(path), configuration: configuration), listener)
    }
}
