import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

/// The peers that a helper has used, one after the other.
final class PeerLine: Sendable {
    private let peers = Mutex<[TestPeer]>([])
    private let behaviours: [PeerBehaviour]
    private let loop: TestLoop?
    let office = Office()

    init(_ behaviours: PeerBehaviour..., on loop: TestLoop? = nil) {
        self.behaviours = behaviours
        self.loop = loop
    }

    /// The next peer; the last behaviour is that of all further ones.
    func next() throws -> Connection {
        let number = peers.withLock { $0.count }
        let behaviour = number < behaviours.count ? behaviours[number] : behaviours.last ?? .init()
        let peer = try TestPeer(office, behaviour: behaviour, configuration: .patient, on: loop)
        peers.withLock { $0.append(peer) }
        return peer.connection
    }

    var all: [TestPeer] { peers.withLock { $0 } }
    var calls: [[String]] { all.map { $0.calls.map(\.message) } }

    /// Ends the peer of now.
    func die() { all.last?.die() }
}

@Suite("Calls through the remote of a helper", .bounded())
struct HelperCallTests {
    private let calm = RestartPolicy.onFailure(limit: 50, backoff: .zero ... .zero)

    private func helper(
        _ line: PeerLine, restart policy: RestartPolicy? = nil, options: HelperOptions = .init()
    ) -> Helper<OfficeInterface> {
        Helper(OfficeInterface.self, name: "office", restart: policy ?? calm, options: options) { try line.next() }
    }

    @Test("The first call starts it, later ones use it, and it is started again after its end")
    func startedByCall() async throws {
        let line = PeerLine()
        let helper = helper(line)
        #expect(line.all.isEmpty && helper.connection == nil)
        #expect(try await helper.remote.echo(1) == 1)
        #expect(try await helper.remote.echo(2) == 2)
        #expect(line.all.count == 1)
        line.die()
        #expect(try await helper.remote.echo(3) == 3)
        #expect(line.calls == [["echo", "echo"], ["echo"]])
        await helper.stop()
        await expectCode(.closed) { _ = try await helper.remote.echo(4) }
        #expect(line.all.count == 2)
    }

    @Test(
        "Restarts come after 0, 0.1, 0.4, 1.6 and 6.4 seconds by the clock of a test's loop, and a minute of life clears the count"
    )
    func pausesByClock() throws {
        let loop = TestLoop()
        let line = PeerLine(
            .dies(after: 0), .dies(after: 0), .dies(after: 0), .dies(after: 0), .dies(after: 0), .init(), on: loop)
        let helper = Helper(OfficeInterface.self, restart: .onFailure(limit: 50), on: loop) { try line.next() }
        let expected: [Duration] = [
            .zero, .milliseconds(100), .milliseconds(400), .milliseconds(1_600), .milliseconds(6_400),
        ]
        for (number, pause) in expected.enumerated() {
            #expect(throws: ConnectionError.self) { _ = try loop.run { try await helper.remote.echo(number) } }
            if pause > .zero {
                loop.advance(by: pause - .milliseconds(1))
                #expect(line.all.count == number + 1)
            }
            loop.advance(by: .milliseconds(1))
            #expect(line.all.count == number + 2, "after \(pause)")
        }
        #expect(try loop.run { try await helper.remote.echo(7) } == 7)
        loop.advance(by: .seconds(61))
        line.die()
        loop.advance(by: .milliseconds(1))
        #expect(line.all.count == expected.count + 2)
        #expect(try loop.run { try await helper.remote.echo(8) } == 8)
        loop.task { await helper.stop() }
        loop.advance(by: .seconds(1))
    }

    @Test("A call that was being served fails when the helper dies, and is not sent again")
    func servedCallIsNotRepeated() async throws {
        let line = PeerLine(.dies(after: 1), .init())
        let helper = helper(line)
        #expect(try await helper.remote.echo(1) == 1)
        await expectCode(.outcomeUnknown) { _ = try await helper.remote.echo(2) }
        #expect(try await helper.remote.echo(3) == 3)
        #expect(line.calls == [["echo", "echo"], ["echo"]])
        await helper.stop()
    }

    @Test("An idempotent call that may have run is sent once more, and no more than once")
    func idempotentCall() async throws {
        let once = PeerLine(.dies(after: 0), .init())
        let office = Helper(RepeatableInterface.self, name: "office", restart: calm) { try once.next() }
        #expect(try await office.remote.echo(7) == 7)
        #expect(once.calls == [["echo"], ["echo"]])
        await office.stop()

        let always = PeerLine(.dies(after: 0))
        let dying = Helper(RepeatableInterface.self, name: "office", restart: calm) { try always.next() }
        await expectCode(.outcomeUnknown) { _ = try await dying.remote.echo(7) }
        #expect(always.calls.filter { $0 == ["echo"] }.count == 2)
        await dying.stop()
    }

    @Test("Calls that wait for a start all get their answers, in tasks, on threads, dynamic, and one-way")
    func waitingCalls() async throws {
        let gate = Signal()
        let line = PeerLine()
        let helper = Helper(OfficeInterface.self, name: "office", restart: calm) {
            await gate.wait()
            return try line.next()
        }
        async let tasks = withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 { group.addTask { try await helper.remote.echo(number) } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        async let thread = onThread { try helper.remote.echo.blocking(100) }
        async let dynamic: Int = helper.remote.object.echo(200)
        async let dynamicThread: Int = onThread { try helper.remote.object.echo.blocking(300) }
        async let oneWay: Void = helper.remote.log.oneWay(400)
        // Nothing can be offered before there is a peer.
        #expect(try !helper.remote.log.offer(500))
        gate.send()
        #expect(try await tasks == Set(0..<20))
        #expect(try await thread == 100)
        #expect(try await dynamic == 200)
        #expect(try await dynamicThread == 300)
        try await oneWay
        #expect(try helper.remote.log.offer(600))
        #expect(try await helper.remote.logged() == [400, 600])
        #expect(line.all.count == 1)
        await helper.stop()
    }

    @Test("A promise needs a process of now, and ends with it")
    func promiseOfHelper() async throws {
        let line = PeerLine()
        let helper = helper(line)
        await expectCode(.notSent) { _ = try await helper.remote.note.promise("a").text() }
        let office = try await helper.running()
        #expect(try await office.note.promise("b").text() == "b")
        #expect(try await helper.remote.note.promise("c").text() == "c")
        line.die()
        await expectUnsent { _ = try await office.echo(1) }
        #expect(try await helper.remote.echo(2) == 2)
        await helper.stop()
        await expectCode(.closed) { _ = try await helper.running() }
    }

    @Test("An object that a process has returned fails when that process has ended, and says which one it was")
    func objectOfDeadInstance() async throws {
        let line = PeerLine()
        let helper = helper(line)
        let note = try await helper.remote.note("x")
        #expect(try await note.text() == "x")
        line.die()
        #expect(try await helper.remote.echo(1) == 1)
        await expectUnsent { _ = try await note.text() }
        await helper.stop()
    }

    @Test("The time-out of a call and the cancellation of its task end the wait for a start")
    func waitEnds() async throws {
        let gate = Signal()
        let helper = Helper(OfficeInterface.self, name: "office", restart: calm) {
            await gate.wait()
            throw CancellationError()
        }
        await expectCode(.deadlineExceeded) { _ = try await helper.remote.echo(1, timeout: .milliseconds(10)) }
        await expectCode(.deadlineExceeded) {
            _ = try await onThread { try helper.remote.echo.blocking(1, timeout: .milliseconds(10)) }
        }
        let call = Task { try await helper.remote.echo(2) }
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        await expectCode(.deadlineExceeded) {
            try await CallContext.with(metadata: [:]) {
                try await helper.remote.log.oneWay(1, timeout: .milliseconds(10))
            }
        }
        await expectCode(.wouldBlock) { _ = try helper.remote.echo.blocking(1) }
        gate.send()
        await helper.stop()
    }

    @Test("A helper that cannot be started is given up, and calls say why; a start by hand tries again")
    func givenUp() async throws {
        let attempts = Atomic<Int>(0)
        let line = PeerLine()
        let helper = Helper(
            OfficeInterface.self, name: "office", restart: .onFailure(limit: 4, backoff: .zero ... .zero)
        ) {
            guard attempts.add(1, ordering: .relaxed).newValue > 3 else { throw SomeFailure() }
            return try line.next()
        }
        let events = helper.events
        let error = await #expect(throws: ConnectionError.self) { _ = try await helper.remote.echo(1) }
        #expect(error?.code == .closed)
        #expect(error?.description.contains("some failure") == true, "\(error?.description ?? "")")
        #expect(
            error?.description.hasPrefix("office: the helper was given up 0 s ago") == true,
            "\(error?.description ?? "")")
        // Each failed start counts twice, so the third one is one too many.
        #expect(attempts.load(ordering: .relaxed) == 3)
        await expectCode(.closed) { _ = try await helper.remote.echo(1) }
        helper.start()
        #expect(try await helper.remote.echo(5) == 5)
        await helper.stop()
        var seen: [String] = []
        for await event in events {
            switch event {
            case .started: seen.append("started")
            case .ended(let end): seen.append(end.isOrderly ? "stopped" : "failed")
            case .gaveUp: seen.append("gave up")
            case .waiting, .unresponsive, .suspended: seen.append("\(event)")
            }
        }
        #expect(seen == ["failed", "failed", "failed", "gave up", "started", "stopped"])
    }

    @Test("A peer without the interface is not tried again")
    func wrongInterface() async throws {
        let line = PeerLine(.lacks("echo"))
        let helper = helper(line)
        let error = await #expect(throws: ConnectionError.self) { _ = try await helper.remote.echo(1) }
        #expect(error?.description.contains("echo") == true, "\(error?.description ?? "")")
        #expect(line.all.count == 1)
        await helper.stop()
    }

    @Test("Its remote cannot be sent, is equal to itself only, and says what it is")
    func remoteAsValue() async throws {
        let line = PeerLine()
        let (one, other) = (helper(line), helper(line))
        #expect(one.remote == one.remote)
        #expect(one.remote != other.remote)
        #expect(Set([one.remote, other.remote, one.remote]).count == 2)
        #expect("\(one.remote)".contains("office"))
        let holder = try TestPeer(Holder(), configuration: .patient)
        let root = try await holder.connection.root
        await expectCode(.foreignReference) { try await root.hold(one.remote.object) }
        await one.stop()
        await other.stop()
    }

    @Test("A helper and its remotes that nobody has any more close the connection")
    func helperIsLetGo() async throws {
        let line = PeerLine()
        var helper: Helper<OfficeInterface>? = helper(line)
        var remote = helper?.remote
        helper = nil
        #expect(try await remote?.echo(1) == 1)
        let connection = try #require(line.all.last?.connection)
        remote = nil
        guard case .closedHere = await connection.ended else {
            Issue.record("it ended otherwise")
            return
        }
    }

    @Test("Of random calls, deaths and restarts each call is answered by its own result or fails, and none runs twice")
    func randomDeaths() async throws {
        let seed = TestSeed.next()
        var generator = SeededGenerator(seed: seed)
        let line = PeerLine()
        let helper = helper(line, restart: .onFailure(limit: 100_000, backoff: .zero ... .zero))
        var (issued, answered) = (0, 0)
        for round in 0..<100 {
            let count = Int.random(in: 1...20, using: &generator)
            let dying = Int.random(in: 0...count, using: &generator)
            let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<count {
                    let value = round * 1_000 + number
                    if number == dying { line.die() }
                    group.addTask {
                        do {
                            let answer = try await helper.remote.echo(value)
                            #expect(answer == value, "seed \(seed)")
                            return false
                        } catch let error as ConnectionError where error.code == .outcomeUnknown {
                            return true
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            issued += count
            answered += count - failures
        }
        // What was answered has run, and nothing more than was called.
        let calls = line.calls.joined().count
        #expect((answered...issued).contains(calls), "seed \(seed)")
        await helper.stop()
        for peer in line.all { #expect(peer.connection.statistics.isAtRest, "seed \(seed)") }
    }
}

/// Expects that a message to a process that has ended was not sent.
private func expectUnsent(_ body: () async throws -> Void) async {
    let error = await #expect(throws: ConnectionError.self) { try await body() }
    #expect(error?.isSafeToRetry == true, "\(error?.description ?? "")")
}

private struct SomeFailure: Error, CustomStringConvertible {
    var description: String { "some failure" }
}

/// `echo` of an office, which may run twice.
private struct RepeatableInterface: Interface {
    let echo = Signature<Int, Int>("echo", idempotent: true)
}

private final class Holder: Vendable {
    static var messages: MessageTable<Holder> { Message("hold") { _ in { (_: DistantObject) in } } }
}
