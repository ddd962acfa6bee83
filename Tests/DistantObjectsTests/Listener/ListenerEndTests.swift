import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import DistantObjects

@Suite("Closing a listener", .bounded())
struct ListenerEndTests {
    /// A listener at a path, and connections to it that vend nothing, with the server's ends.
    private struct Ends {
        let place: TemporaryFolder
        let listener: Listener
        let directory = Directory()
        var clients: [Connection] = []
        var servers: [Connection] = []

        init(_ count: Int) async throws {
            place = try TemporaryFolder()
            listener = try Listener(at: .path(place.socket), configuration: .patient)
            var iterator = listener.makeAsyncIterator()
            for _ in 0..<count {
                clients.append(try await Connection.open(.path(place.socket), configuration: .patient))
                let server = try #require(await iterator.next())
                server.vend(directory)
                servers.append(server)
            }
        }
    }

    @Test("Its connections are told goodbye, calls under way are answered, and `ended` waits for all of them")
    func goodbyeInListenerEnd() async throws {
        let ends = try await Ends(3)
        let root = try await ends.clients[0].root
        let call = CountedCall { let _: Int = try await root.hold() }
        await ends.directory.started.wait()
        // One that was not taken is closed, too.
        let untaken = try await Connection.open(.path(ends.place.socket), configuration: .patient)
        ends.listener.close(timeout: TestTimeout.wait)
        for client in ends.clients.dropFirst() + [untaken] { Self.expectGoodbye(await client.ended) }
        #expect(call.ends.count == 0 && !ends.servers[0].hasEnded)
        ends.directory.go.send()
        await call.expect(nil)
        Self.expectGoodbye(await ends.clients[0].ended)
        await ends.listener.ended
        #expect(ends.servers.allSatisfy { $0.hasEnded })
        // Later it returns at once.
        ends.listener.close()
        await ends.listener.ended
    }

    @Test("A connection whose method does not return is cut after the limit")
    func cutInListenerEnd() async throws {
        let ends = try await Ends(1)
        let root = try await ends.clients[0].root
        let call = CountedCall { let _: Int = try await root.hold() }
        await ends.directory.started.wait()
        ends.listener.close(timeout: .milliseconds(20))
        await ends.listener.ended
        await call.expect(.outcomeUnknown)
        ends.directory.go.send()
    }

    @Test(
        "Without a limit, and when the listener is freed, its connections stay open, and one that was not taken gets a goodbye",
        arguments: [true, false])
    func openInListenerEnd(isFreed: Bool) async throws {
        var clients: [Connection] = []
        var servers: [Connection] = []
        let untaken: Connection
        do {
            let ends = try await Ends(2)
            (clients, servers) = (ends.clients, ends.servers)
            untaken = try await Connection.open(.path(ends.place.socket), configuration: .patient)
            if !isFreed { ends.listener.stopListening() }
        }
        Self.expectGoodbye(await untaken.ended)
        for client in clients {
            let back: Int = try await client.root.echo(7)
            #expect(back == 7)
            await client.close()
        }
        for server in servers { Self.expectGoodbye(await server.ended) }
    }

    @Test(
        "A connection that the listener has not handed out when it is closed has its calls answered, and gets a goodbye"
    )
    func openingInListenerEnd() async throws {
        let place = try TemporaryFolder()
        let directory = Directory()
        let called = DispatchSemaphore(value: 0)
        let closing = Mutex<Listener?>(nil)
        var configuration = Connection.Configuration.patient
        configuration.roots = ["": directory]
        // The other side uses the connection by now, and the listener hands it out after this.
        configuration.onEvent = { event in
            guard event.code == .opened else { return }
            called.wait()
            closing.withLock { $0 }?.close(timeout: TestTimeout.wait)
        }
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        closing.withLock { $0 = listener }
        let client = try await Connection.open(.path(place.socket), configuration: .patient)
        let root = try await client.root
        let call = CountedCall { let _: Int = try await root.hold() }
        await directory.started.wait()
        called.signal()
        var iterator = listener.makeAsyncIterator()
        #expect(await iterator.next() == nil)
        directory.go.send()
        await call.expect(nil)
        Self.expectGoodbye(await client.ended)
        await listener.ended
        closing.withLock { $0 = nil }
    }

    private static func expectGoodbye(_ end: ConnectionEnd, location: SourceLocation = #_sourceLocation) {
        if case .closedByPeer = end { return }
        Issue.record("\(end)", sourceLocation: location)
    }
}
