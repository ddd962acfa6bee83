import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("One-way messages", .bounded())
struct OneWayTests {
    @Test("Messages are handled in the order they were sent, and a barrier waits for them")
    func orderInOneWay() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        for number in 0..<5_000 { try await directory.note.oneWay(number) }
        try await pair.client.barrier()
        #expect(pair.directory.log.withLock { $0 } == Array(0..<5_000))
        await pair.close()
    }

    @Test("A call after one-way messages to the same object sees their effect")
    func callAfter() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        for number in 1...100 { try await directory.noteSlowly.oneWay(number) }
        let _: Int = try await directory.echo(1)
        #expect(pair.directory.log.withLock { $0.filter { $0 > 0 } } == Array(1...100))
        await pair.close()
    }

    @Test("An error of a one-way message reaches both event handlers, and the connection goes on")
    func errorsInOneWay() async throws {
        let here = Signal()
        let there = Signal()
        let code = Mutex<ConnectionError.Code?>(nil)
        var client = Connection.Configuration.patient
        client.onEvent = { event in
            guard event.code == .oneWayFailed else { return }
            code.withLock { $0 = (event.error as? ConnectionError)?.code }
            here.send()
        }
        var server = Connection.Configuration.patient
        server.onEvent = { event in
            if event.code == .oneWayFailedHere { there.send() }
        }
        let pair = try await Pair(client: client, server: server)
        let directory = try await pair.client.root
        try await directory.noteAndThrow.oneWay(3)
        await here.wait()
        await there.wait()
        #expect(code.withLock { $0 } == .methodFailed)
        let still: Int = try await directory.echo(1)
        #expect(still == 1)
        await pair.close()
    }

    @Test("Without credit the sender waits, and all messages arrive in order")
    func creditInOneWay() async throws {
        var server = Connection.Configuration.patient
        server.limits.runningCalls = 2
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        for number in 0..<500 { try await directory.note.oneWay(number) }
        try await pair.client.barrier()
        #expect(pair.directory.log.withLock { $0 } == Array(0..<500))
        await pair.close()
    }

    @Test("A failure text of few characters but many bytes is truncated")
    func longCharacters() async throws {
        let failed = Signal()
        var client = Connection.Configuration.patient
        client.onEvent = { event in
            if event.code == .oneWayFailed { failed.send() }
        }
        let pair = try await Pair(client: client)
        let directory = try await pair.client.root
        try await directory.message("a" + String(repeating: "\u{301}", count: 500)).oneWay()
        await failed.wait()
        await expectCode(.noSuchMessage) { try await directory.message(String(repeating: "x", count: 2_000))() }
        let still: Int = try await directory.echo(1)
        #expect(still == 1)
        await pair.close()
    }

    @Test("The result of a one-way message is not encoded, so it cannot fail")
    func resultsInOneWay() async throws {
        let failures = Signal()
        var server = Connection.Configuration.patient
        server.onEvent = { event in
            switch event.code {
            case .oneWayFailedHere, .callRefused: failures.send()
            default: break
            }
        }
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        try await directory.failing.oneWay(1)
        try await pair.client.barrier()
        #expect(failures.count == 0)
        await expectCode(.notEncodable) { let _: Failing = try await directory.failing(1) }
        await pair.close()
    }

    @Test("An error whose description calls the connection does not deadlock")
    func curiousErrors() async throws {
        let failed = Signal()
        var client = Connection.Configuration.patient
        client.onEvent = { event in
            if event.code == .oneWayFailed { failed.send() }
        }
        let pair = try await Pair(client: client)
        pair.server.vend(Curious(pair.server))
        try await pair.client.root.fail.oneWay()
        await failed.wait()
        await pair.close()
    }

    @Test("A method that fails after the end of its connection causes no event")
    func lateInOneWay() async throws {
        let events = Mutex<[String]>([])
        var server = Connection.Configuration.patient
        server.onEvent = { event in
            // Other tests may use all threads of the loop.
            if event.code != .threadsExhausted { events.withLock { $0.append(event.code.rawValue) } }
        }
        let pair = try await Pair(server: server)
        let curious = Curious(nil)
        pair.server.vend(curious)
        try await pair.client.root.failAfterGate.oneWay()
        await curious.started.wait()
        pair.client.invalidate()
        _ = await pair.server.ended
        curious.gate.signal()
        await curious.over.wait()
        #expect(events.withLock { $0 } == ["opened", "ended"])
    }

    @Test("A one-way message to an object of this process encodes no result")
    func localInOneWay() async throws {
        try await DistantObject(standingFor: Directory()).failing.oneWay(1)
        await #expect(throws: (any Error).self) { try await DistantObject(standingFor: Directory()).failing(1) }
    }

    @Test("Queued messages of all sizes keep their arguments")
    func sizesInOneWay() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        try await directory.block.oneWay()
        await pair.directory.started.wait()
        try await withThrowingTaskGroup { group in
            for size in Array(0..<600) + [960, 4_000, 70_000, 1, 200_000, 0] {
                group.addTask {
                    let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0 &+ size) }
                    let back: [UInt8] = try await directory.bytes(sent)
                    #expect(back == sent)
                }
            }
            while pair.server.statistics.answers < 606 { try await pair.client.ping() }
            pair.directory.gate.signal()
            try await group.waitForAll()
        }
        await pair.close()
    }
}

private final class Curious: Vendable {
    let connection: Connection?
    let started = Signal()
    let over = Signal()
    let gate = DispatchSemaphore(value: 0)

    init(_ connection: Connection?) { self.connection = connection }

    static var messages: MessageTable<Curious> {
        Message("fail", Curious.fail)
        Message("failAfterGate", Curious.failAfterGate)
    }

    func fail() throws { throw Question(connection: connection) }

    func failAfterGate() throws {
        started.send()
        gate.wait()
        throw Late(over: over)
    }
}

private struct Question: Error, Codable, CustomStringConvertible {
    var connection: Connection?

    init(connection: Connection?) { self.connection = connection }
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {}

    var description: String { "\(connection?.statistics.answers ?? 0) answers" }
}

/// Signals when it is freed, which is after all events were reported.
private final class Late: Error {
    private let over: Signal

    init(over: Signal) { self.over = over }

    deinit { over.send() }
}
