import Dispatch
import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

@Suite("Timeouts of a connection", .bounded())
struct PatienceTests {
    @Test("A look-up at a peer that vends nothing ends at the configured deadline, in tasks and threads")
    func lookups() async throws {
        var client = Connection.Configuration.patient
        client.lookupTimeout = .milliseconds(20)
        let (first, second) = try await Connection.pair(first: client, second: .patient)
        await expectCode(.deadlineExceeded) { _ = try await first.root }
        await expectCode(.deadlineExceeded) { _ = try await first.root(named: "it") }
        await expectCode(.deadlineExceeded) { _ = try await onThread { try first.blockingRoot() } }
        second.vend(Directory())
        // A deadline of the look-up overrides the configured one.
        let root = try await first.root(named: "", timeout: .seconds(3_600))
        let back: Int = try await root.echo(1)
        #expect(back == 1)
        first.invalidate()
        _ = await second.ended
    }

    @Test("Calls without a deadline get the configured one, and one-way messages get none")
    func callsInPatience() async throws {
        var client = Connection.Configuration.patient
        client.callTimeout = .milliseconds(20)
        client.lookupTimeout = .seconds(3_600)
        let pair = try await Pair(client: client)
        let directory = try await pair.client.root
        await expectCode(.deadlineExceeded) { let _: Int = try await directory.wait() }
        await expectCode(.deadlineExceeded) { let _: Int = try await pair.client.run { try await directory.wait() } }
        await expectCode(.deadlineExceeded) { try await onThread { let _: Int = try directory.wait.blocking() } }
        // Blocked for longer than the call deadline.
        try await directory.block.oneWay()
        try await directory.note.oneWay(1)
        await pair.directory.started.wait()
        await expectCode(.deadlineExceeded) { let _: Int = try await directory.echo(1) }
        pair.directory.gate.signal()
        await eventually("the message has run") { pair.directory.log.withLock { $0 == [1] } }
        pair.client.invalidate()
        _ = await pair.server.ended
    }

    @Test("Keepalive ends a connection whose peer does not answer pings")
    func keepalive() async throws {
        var configuration = Connection.Configuration.patient
        configuration.keepalive = .milliseconds(20)
        let (raw, ours) = try RawPeerConnection.ends(.pipes)
        raw.send(1, RawPeer.hello)
        let silent = try await RawPeerConnection.adopt(ours, isInitiator: true, configuration)
        guard case .failed(let error) = await silent.ended else {
            Issue.record("the connection was not given up")
            return
        }
        #expect("\(error)".contains("has sent nothing"))
        raw.close()
    }

    /// The test controls the clock.
    @Test("Keepalive does not end an idle connection whose peer answers pings")
    func idleInPatience() throws {
        let loop = TestLoop()
        var configuration = Connection.Configuration()
        configuration.keepalive = .seconds(10)
        let pair = try ConnectionPair(on: loop, first: configuration)
        let (client, server) = (pair.first, pair.second)
        let before = client.statistics.framesIn
        loop.advance(by: .seconds(1_000))
        #expect(client.statistics.framesIn >= before + 50)
        #expect(!client.isEnded && !server.isEnded)
        client.invalidate()
        loop.runUntilIdle()
        #expect(server.isEnded)
    }
}
