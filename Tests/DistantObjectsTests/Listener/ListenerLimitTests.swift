import CPortShims
import DistantObjects
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

@Suite("Connections and peers of a listener", .bounded())
struct ListenerLimitTests {
    @Test("Connections that end before they are taken are not kept")
    func endedUntaken() async throws {
        struct Weak { weak var connection: Connection? }
        let place = try TemporaryFolder()
        let known = Mutex<[Weak]>([])
        var configuration = Connection.Configuration.patient
        configuration.onEvent = { event in
            guard event.code == .opened else { return }
            known.withLock { $0.append(Weak(connection: Connection.current)) }
        }
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        for _ in 0..<20 {
            let connection = try await Connection.open(.path(place.socket), configuration: .patient)
            connection.invalidate()
            _ = await connection.ended
        }
        await eventually("all of them were accepted") { known.withLock { $0.count } == 20 }
        await eventually("nothing of them is left") { known.withLock { $0.allSatisfy { $0.connection == nil } } }
        // An open one is kept.
        let last = try await Connection.open(.path(place.socket), configuration: .patient)
        var iterator = listener.makeAsyncIterator()
        try #require(await iterator.next()).vend(Directory())
        let back: Int = try await last.root.echo(1)
        #expect(back == 1)
        await last.close()
        listener.close()
    }

    @Test("At the limit of connections, the next one is accepted when one has ended")
    func mostConnections() async throws {
        let place = try TemporaryFolder()
        let paused = Signal()
        var configuration = Connection.Configuration.patient
        configuration.limits.connections = 2
        configuration.limits.connectionsOfPeer = 2
        configuration.onEvent = { if $0.code == .acceptPaused { paused.send() } }
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        let serving = Task {
            for await connection in listener { connection.vend(Directory()) }
        }
        let one = try await Connection.open(.path(place.socket), configuration: .patient)
        let two = try await Connection.open(.path(place.socket), configuration: .patient)
        let next = Task { try await Connection.open(.path(place.socket), configuration: Self.patient) }
        await paused.wait()
        // It waits in the kernel, and the open ones go on.
        for connection in [one, two] {
            let back: Int = try await connection.root.echo(1)
            #expect(back == 1)
        }
        await one.close()
        let three = try await next.value
        let back: Int = try await three.root.echo(3)
        #expect(back == 3)
        await two.close()
        await three.close()
        listener.close()
        await serving.value
    }

    private static let patient: Connection.Configuration = {
        var configuration = Connection.Configuration.patient
        configuration.handshakeTimeout = .seconds(800)
        return configuration
    }()

    #if canImport(Glibc)
        @Test(
            "Over a socketpair a program is identified by its effective user",
            .enabled(if: geteuid() == 0, "only the superuser can become another one"))
        func effectiveUser() async {
            await #expect(processExitsWith: .success) {
                #expect(setegid(4_712) == 0 && seteuid(4_711) == 0)
                let (client, server) = try await Connection.pair(first: .patient, second: .patient)
                #expect(client.peer == PeerCredentials.current && server.peer == PeerCredentials.current)
                #expect(client.peer?.uid == 4_711 && client.peer?.gid == 4_712)
                await client.close()
                _ = await server.ended
            }
        }

        private static let hasNamespaces = system("/usr/bin/unshare -U true 2>/dev/null") == 0

        @Test(
            "In a user namespace the number of all unmapped users is not trusted",
            .enabled(if: hasNamespaces, "no user namespace may be made here"))
        func unknownUser() async throws {
            let place = try TemporaryFolder()
            let server = try builtProgram("FooBarServer")
            let (child, _) = try ChildProcess.launch(
                "/usr/bin/unshare", arguments: ["-U", server, "--path", place.socket])
            defer { child.kill() }
            // It runs as 65534 there, as this process seems to.
            do {
                _ = try await Connection.open(.path(place.socket), timeout: TestTimeout.wait)
                Issue.record("it was accepted")
            } catch let error as ConnectionError {
                #expect(error.code == .peerRefused)
                #expect(error.message.contains("namespace"), "\(error)")
            }
        }
    #endif

    @Test("A user namespace is recognised as complete if it maps all users")
    func userTables() {
        #expect(UserNamespace.mapsAll(nil))
        #expect(UserNamespace.mapsAll("         0          0 4294967295\n"))
        #expect(UserNamespace.mapsAll("0 0 1000\n1000 1000 4294966295\n"))
        #expect(!UserNamespace.mapsAll("0 100000 65536\n"))
        #expect(!UserNamespace.mapsAll(""))
    }
}
