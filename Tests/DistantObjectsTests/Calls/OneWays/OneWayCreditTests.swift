import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Credit of one-way messages", .bounded())
struct OneWayCreditTests {
    /// A pair whose server accepts a limited number of one-way messages at a time.
    private func pair(_ oneWays: Int) async throws -> (pair: Pair, sleeper: Sleeper, proxy: DistantObject) {
        var server = Connection.Configuration.patient
        server.limits.runningCalls = oneWays
        let pair = try await Pair(server: server)
        let sleeper = Sleeper()
        pair.server.vend(sleeper, as: "sleeper")
        return (pair, sleeper, try await pair.client.root(named: "sleeper"))
    }

    @Test("One-way messages above the limit wait and all run, and calls overtake the waiting ones")
    func waitingInOneWayCredit() async throws {
        let (pair, sleeper, proxy) = try await pair(24)
        let sender = Task {
            for number in 0..<100 { try await proxy.sleep.oneWay(number) }
        }
        await sleeper.started.wait(for: 24)
        await eventually("the next one waits") { pair.client.statistics.pending == 1 }
        // Calls have a separate credit, and overtake the waiting one.
        let count: Int = try await proxy.count()
        #expect(count == 24)
        sleeper.wake.send()
        try await sender.value
        try await pair.client.barrier()
        await sleeper.started.wait(for: 100)
        await eventually("all have run") { sleeper.done.count == 100 }
        let losses = await pair.client.close()
        #expect(losses.count == 0)
    }

    @Test("Without room, offer returns false, and a deadline or cancellation ends the wait")
    func noRoom() async throws {
        let (pair, sleeper, proxy) = try await pair(3)
        for number in 0..<3 { try await proxy.sleep.oneWay(number) }
        #expect(try !proxy.sleep.offer(3))
        await expectCode(.deadlineExceeded) { try await proxy.sleep.oneWay(4, timeout: .milliseconds(10)) }
        let error = try await onThread { () -> (any Error)? in
            do { try proxy.sleep.blockingOneWay(5, timeout: .milliseconds(10)) } catch { return error }
            return nil
        }
        #expect((error as? ConnectionError)?.code == .deadlineExceeded)
        let cancelled = Task { try await proxy.sleep.oneWay(6) }
        await eventually("it waits") { pair.client.statistics.pending == 1 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        sleeper.wake.send()
        await eventually("there is room again") { (try? proxy.sleep.offer(7)) == true }
        await eventually("all have run") { sleeper.done.count == 4 }
        await pair.close()
    }

    @Test(
        "A method that serves a one-way message does not wait for room for another, wherever it runs",
        arguments: Resender.kinds.indices)
    func nestedInOneWayCredit(kind: Int) async throws {
        var client = Connection.Configuration.patient
        client.limits.runningCalls = 3
        let pair = try await Pair(client: client)
        let (sleeper, resender) = (Sleeper(), Resender())
        pair.client.vend(sleeper)
        Resender.kinds[kind](resender, pair.server)
        let remote = try await pair.client.root(named: "resender")
        try await remote.fill.oneWay(sleeper)
        await resender.refused.wait()
        #expect(resender.codes.withLock { $0 } == [.overloaded])
        #expect(resender.sent.withLock { $0 } == 3)
        await sleeper.started.wait(for: 3)
        // The message that was refused does not come later.
        sleeper.wake.send()
        await eventually("all have run") { sleeper.done.count == 3 }
        try await pair.server.barrier()
        #expect(sleeper.started.count == 3)
        let losses = await pair.server.close()
        #expect(losses.count == 0)
        await pair.close()
    }

    @Test("Lost messages are reported once, by the next one-way message, the barrier or the close")
    func lostInOneWayCredit() async throws {
        let pair = try await Pair()
        let root = try await pair.client.root
        try await root.noteAndThrow.oneWay(1)
        try await root.nothing.oneWay()
        let still: Int = try await root.echo(1)
        #expect(still == 1)
        await expectCode(.oneWayLost) { try await root.note.oneWay(1) }
        #expect(pair.directory.log.withLock { $0 } == [1])
        try await root.note.oneWay(2)
        try await pair.client.barrier()
        #expect(pair.directory.log.withLock { $0 } == [1, 2])
        // None fails before the last is sent.
        try await root.block.oneWay()
        for _ in 0..<3 { #expect(try root.nothing.offer()) }
        pair.directory.gate.signal()
        let lost = await #expect(throws: ConnectionError.self) { try await pair.client.barrier() }
        #expect(lost?.code == .oneWayLost && lost?.message.hasPrefix("3 one-way messages") == true)
        #expect((lost?.underlying as? ConnectionError)?.code == .noSuchMessage)
        try await pair.client.barrier()
        try await root.nothing.oneWay()
        let losses = await pair.client.close()
        #expect(losses.count == 1 && losses.first?.code == .noSuchMessage)
    }

    @Test("An older peer, whose one-way messages use the credit of calls, still works")
    func olderPeerInOneWayCredit() async throws {
        var server = Connection.Configuration.patient
        server.limits.runningCalls = 2
        let (raw, connection) = try await rawClient(server, RawPeer.greeting())
        let sleeper = Sleeper()
        connection.vend(sleeper)
        let failed = try await onThread { () -> Int in
            raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
            while let frame = raw.read(), frame.kind != 3 {}
            // Three one-way messages to slot 1, of which two may run. The first name was that of the look-up.
            for number in 0..<3 {
                raw.send(2, flags: 1, [1, 0] + (number == 0 ? [0] + RawPeer.text("hold") : [3]) + [0, 0, 0, 0, 0])
            }
            while let frame = raw.read() {
                #expect(frame.kind != 7 || frame.flags != 2)
                if frame.kind == 13 { return Int(frame.body[1]) }
            }
            return 0
        }
        #expect(failed == 7)
        raw.close()
        _ = await connection.ended
        sleeper.wake.send()
    }

    @Test("An object with a full mailbox does not stall another object")
    func blockedObject() async throws {
        let (raw, connection) = try await rawClient(.patient, RawPeer.greeting())
        let directory = Directory()
        connection.vend(["": directory, "other": Observer()])
        let (credit, answer) = try await onThread { () -> (UInt64, [UInt8]?) in
            raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
            while let frame = raw.read(), frame.kind != 3 {}
            raw.send(2, RawPeer.call(name: [2], body: [0, 6, 0x85] + Array("other".utf8)))
            while let frame = raw.read(), frame.kind != 3 {}
            // With the look-ups 511 calls that start, the last of which blocks, and 513 behind it: no credit is left.
            for number in 0..<508 {
                raw.send(2, flags: 1, [1, 0] + (number == 0 ? [0] + RawPeer.text("clear") : [3]) + [0, 0, 0, 0, 0])
            }
            raw.send(10, [1])
            while let frame = raw.read(), frame.kind != 12 {}
            raw.send(2, flags: 1, [1, 0] + [0] + RawPeer.text("block") + [0, 0, 0, 0, 0])
            for _ in 0..<513 { raw.send(2, flags: 1, [1, 0, 3, 0, 0, 0, 0, 0]) }
            var credit: UInt64 = 0
            while credit == 0, let frame = raw.read() {
                if frame.kind == 7, frame.flags == 0 {
                    var body = frame.body[...]
                    credit = RawPeer.takeNumber(&body) ?? 0
                }
            }
            raw.send(2, RawPeer.call(slot: 2, name: [0] + RawPeer.text("count"), arguments: 0, body: [0, 0]))
            while let frame = raw.read() {
                if frame.kind == 3 { return (credit, frame.body) }
            }
            return (credit, nil)
        }
        // The last frame may come before the call that blocks starts.
        #expect(credit == 511 || credit == 510)
        // The other object answers, with 0, while the first one blocks.
        #expect(answer?.suffix(3) == [0, 1, 0])
        directory.gate.signal()
        raw.close()
        _ = await connection.ended
    }

    private func rawClient(
        _ configuration: Connection.Configuration, _ hello: [UInt8]
    ) async throws -> (RawPeer, Connection) {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        raw.send(1, hello)
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
        _ = try await onThread { raw.read() == nil }
        return (raw, connection)
    }
}

/// An object whose messages end when the test says so.
private final class Sleeper: Vendable {
    let started = Signal()
    let done = Signal()
    let wake = Signal()

    static var messages: MessageTable<Sleeper> {
        Message("sleep", Sleeper.sleep)
        Message("hold", Sleeper.hold)
        Message("count", Sleeper.count)
    }

    func sleep(_ number: Int) async { await hold() }

    func hold() async {
        started.send()
        await wake.wait()
        done.send()
    }

    func count() -> Int { started.count }
}

/// Sends one-way messages until there is no room.
private final class Resender: Vendable {
    let refused = Signal()
    let sent = Mutex(0)
    let codes = Mutex<[ConnectionError.Code]>([])

    static var messages: MessageTable<Resender> {
        Message("fill", Resender.fill)
    }

    /// Vends the object itself, an actor, or an object of the main actor.
    static let kinds: [@Sendable (Resender, Connection) -> Void] = [
        { $1.vend($0, as: "resender") }, { $1.vend(ResendingActor($0), as: "resender") },
        { $1.vend(MainResender($0), as: "resender") },
    ]

    nonisolated(nonsending) func fill(_ other: DistantObject) async {
        do {
            while true {
                try await other.sleep.oneWay(0)
                sent.withLock { $0 += 1 }
            }
        } catch {
            codes.withLock { $0.append((error as? ConnectionError)?.code ?? .outcomeUnknown) }
            refused.send()
        }
    }
}

private actor ResendingActor: Vendable {
    private let resender: Resender

    init(_ resender: Resender) { self.resender = resender }

    static var messages: MessageTable<ResendingActor> {
        Message("fill") { (actor: ResendingActor) in { (other: DistantObject) in await actor.fill(other) } }
    }

    func fill(_ other: DistantObject) async { await resender.fill(other) }
}

@MainActor
private final class MainResender: Vendable {
    private let resender: Resender

    nonisolated init(_ resender: Resender) { self.resender = resender }

    nonisolated static var messages: MessageTable<MainResender> {
        Message("fill") { (object: MainResender) in { (other: DistantObject) in await object.fill(other) } }
    }

    func fill(_ other: DistantObject) async {
        MainActor.preconditionIsolated()
        await resender.fill(other)
    }
}
