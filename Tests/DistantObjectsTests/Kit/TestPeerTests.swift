import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

@Suite("A peer of a test", .bounded())
struct TestPeerTests {
    private func peer(_ behaviour: PeerBehaviour, _ office: Office = Office()) throws -> TestPeer {
        try TestPeer(office, behaviour: behaviour, configuration: .patient)
    }

    @Test("It answers as many calls as it is told, and dies with the status that it is told")
    func deathInTestPeer() async throws {
        let ends = Mutex<[String]>([])
        var configuration = Connection.Configuration.patient
        configuration.onEvent = { if $0.code == .ended { ends.withLock { [text = "\($0)"] in $0.append(text) } } }
        let peer = try TestPeer(Office(), behaviour: .dies(after: 2, .exited(3)), configuration: configuration)
        let office = try await peer.connection.root(as: OfficeInterface.self)
        #expect(try await office.echo(1) == 1)
        #expect(try await office.metadata() == [:])
        await expectCode(.outcomeUnknown) { _ = try await office.echo(3) }
        guard case .lost(.exited(3)) = await peer.connection.ended else {
            Issue.record("it ended otherwise: \(await peer.connection.ended)")
            return
        }
        await expectCode(.closed) { _ = try await office.echo(4) }
        #expect(peer.calls.map(\.message) == ["echo", "metadata", "echo"])
        #expect(ends.withLock { $0.count } == 1)
    }

    @Test("It dies in the middle of a call and of a stream, when the test says so")
    func killedInTestPeer() async throws {
        let office = Office()
        let peer = try peer(.init(), office)
        let remote = try await peer.connection.root(as: OfficeInterface.self)
        let call = Task { try await remote.hold() }
        await office.started.wait()
        var numbers = 0
        await expectCode(.outcomeUnknown) {
            for try await _ in try await remote.count(.max) {
                numbers += 1
                if numbers == 10 { peer.die(.signalled(15)) }
            }
        }
        await expectCode(.outcomeUnknown) { _ = try await call.value }
        await office.stopped.wait(for: 2)
        #expect(numbers >= 10)
        let end = await peer.connection.ended
        let isKilled = if case .lost(.signalled(15)?) = end { true } else { false }
        #expect(isKilled, "\(end)")
    }

    @Test("It records the calls with their metadata, and one-way messages and promises, too")
    func records() async throws {
        let peer = try peer(.init())
        let office = try await peer.connection.root(as: OfficeInterface.self)
        try await CallContext.with(metadata: ["trace": "1"]) { try await office.log.oneWay(5) }
        #expect(try await office.note.promise("x").text() == "x")
        #expect(try await office.logged() == [5])
        #expect(peer.calls.map(\.message) == ["log", "note", "logged"])
        #expect(peer.calls.map(\.metadata) == [["trace": "1"], [:], [:]])
    }

    @Test("A message that it lacks is not available, and the look-up fails where the interface needs it")
    func lacks() async throws {
        let office = try await peer(.lacks("echo", "hold")).connection.root
        await expectCode(.noSuchMessage) { let _: Int = try await office.echo(1) }
        #expect(throws: ConnectionError.self) { try Remote<OfficeInterface>(office) }
        #expect(try await office.metadata() == [String: String]())
        let newer = try await peer(.lacks("log")).connection.root(as: TerseInterface.self)
        #expect(!newer.log.isAvailable)
        await expectCode(.notAvailable) { try await newer.log(1) }
        #expect(try await newer.echo(2) == 2)
        // The look-up after the first root was released finds the same messages.
        let again = try peer(.lacks("log"))
        for _ in 0..<2 {
            let root = try await again.connection.root(as: TerseInterface.self)
            #expect(!root.log.isAvailable)
            try await again.connection.ping()
        }
    }

    @Test("Calls wait as long as it is told, on the clock that the test turns, and time out meanwhile")
    func delays() throws {
        let loop = TestLoop()
        var behaviour = PeerBehaviour.delays(.seconds(10))
        behaviour.delays["metadata"] = .seconds(1)
        let peer = try TestPeer(Office(), behaviour: behaviour, on: loop)
        let office = try loop.run { try await peer.connection.root(as: OfficeInterface.self) }
        let outcomes = Mutex<[String]>([])
        @Sendable func note(_ text: String) { outcomes.withLock { $0.append("\(text) at \(loop.now / .seconds(1))") } }
        loop.task { note("echo \(try await office.echo(1))") }
        loop.task {
            do { _ = try await office.echo(2, timeout: .seconds(5)) } catch { note("late") }
        }
        loop.runUntilIdle()
        #expect(throws: TestLoopStalled.self) { try loop.run { try await office.metadata() } }
        #expect(peer.calls.isEmpty)
        loop.advance(by: .seconds(4))
        #expect(peer.calls.map(\.message) == ["metadata"] && outcomes.withLock { $0.isEmpty })
        loop.advance(by: .seconds(16))
        #expect(outcomes.withLock { $0 } == ["late at 5.0", "echo 1 at 10.0"])
        #expect(peer.calls.map(\.message) == ["metadata", "echo"])
    }
}

/// What a program asks that can do without `log`.
private struct TerseInterface: Interface {
    let echo = Signature<Int, Int>("echo")
    let log = Signature<Void, Int>("log", since: 2)
}
