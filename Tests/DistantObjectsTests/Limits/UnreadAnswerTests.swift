import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// Answers that the peer does not read.
@Suite("Unread answers", .serialized, .bounded())
struct UnreadAnswerTests {
    /// A peer that reads everything but returns no credit for large messages.
    ///
    /// Its connection vends `Bulky` in slot 1 and an `Observer` in slot 2.
    private static func greedy(
        _ limits: Connection.Limits
    ) async throws -> (peer: GreedyPeer, connection: Connection, bulky: Bulky) {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        var configuration = Connection.Configuration.patient
        configuration.limits = limits
        raw.send(1, RawPeer.hello)
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
        let bulky = Bulky()
        connection.vend(["": bulky, "x": bulky.other])
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        raw.send(2, RawPeer.call(question: 1, name: [2], body: [0, 2, 0x81, 0x78]))
        let frames = try await onThread { [raw.read(), raw.read(), raw.read()] }
        #expect(frames.map(\.?.kind) == [1, 3, 3])
        return (GreedyPeer(raw), connection, bulky)
    }

    /// A limit of 1 MiB, with a window for large messages of 8 MiB.
    private static func limits(patience: Duration) -> Connection.Limits {
        var limits = Connection.Limits()
        limits.unreadAnswers = 1 << 20
        limits.answerPatience = patience
        return limits
    }

    @Test("Above the limit calls wait and one-way messages run; with credit for large messages the calls go on")
    func heldInUnreadAnswer() async throws {
        // No call is refused while this test runs.
        let (peer, connection, bulky) = try await Self.greedy(Self.limits(patience: .seconds(3_600)))
        for question: UInt64 in 0..<60 { peer.ask("large", question) }
        try await onThread { peer.read { peer.bytes > 7 << 20 } }
        await eventually("the server has gone as far as it may") { connection.statistics.framesIn >= 63 }
        // Nine MiB of answers of 300,000 bytes, and the one that exceeds the limit.
        let held = bulky.runs.withLock { $0 }
        #expect(held < 60)
        peer.sendOneWay()
        await bulky.other.noted.wait()
        #expect(bulky.runs.withLock { $0 } <= 33)
        try await onThread {
            peer.read {
                peer.giveBack()
                return peer.results == 60
            }
        }
        #expect(bulky.runs.withLock { $0 } == 60)
        peer.raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("Calls that wait while the peer reads nothing are refused without having run, until it reads again")
    func refusedInUnreadAnswer() async throws {
        let (peer, connection, bulky) = try await Self.greedy(Self.limits(patience: .milliseconds(50)))
        for question: UInt64 in 0..<60 { peer.ask("large", question) }
        // Refusals are small, so they overtake the large answers that have no credit.
        try await onThread { peer.read { peer.refusals + bulky.runs.withLock { $0 } == 60 } }
        // The window and the limit have room for at most half of them.
        #expect(peer.refusals > 20)
        #expect(peer.refusalCodes == [7])
        peer.ask("large", 60)
        try await onThread { peer.read { peer.refusals + bulky.runs.withLock { $0 } == 61 } }
        try await onThread {
            peer.read {
                peer.giveBack()
                return peer.results == bulky.runs.withLock { $0 }
            }
        }
        let runs = bulky.runs.withLock { $0 }
        #expect(runs + peer.refusals == 61)
        peer.ask("large", 61)
        try await onThread { peer.read { peer.results == runs + 1 } }
        #expect(bulky.runs.withLock { $0 } == runs + 1)
        peer.raw.close()
        _ = await connection.ended
    }

    @Test("Above four times the limit, the result of a call that has run is dropped, and the caller gets an error")
    func hardBoundInUnreadAnswer() async throws {
        let (peer, connection, bulky) = try await Self.greedy(Self.limits(patience: .seconds(3_600)))
        // All of them start before the first one returns.
        for question: UInt64 in 0..<100 { peer.ask("later", question) }
        await bulky.started.wait(for: 100)
        for _ in 0..<100 { bulky.go.send() }
        try await onThread { peer.read { peer.refusals > 0 && bulky.runs.withLock { $0 } == 100 } }
        try await onThread {
            peer.read {
                peer.giveBack()
                return peer.results + peer.refusals == 100
            }
        }
        // The window, four mebibytes, and one message.
        #expect(peer.results * 300_000 <= 13 << 20)
        #expect(peer.refusalCodes == [7])
        peer.raw.close()
        _ = await connection.ended
    }

    @Test("If a thread that has answers to decode blocks in a call, that call is refused, and the rest goes on")
    func blockedConsumer() async throws {
        var server = Connection.Configuration.patient
        server.limits = Self.limits(patience: .milliseconds(100))
        let pair = try await Pair(server: server)
        let bulky = Bulky()
        pair.server.vend(bulky, as: "bulky")
        let root = try await pair.client.root(named: "bulky")
        let consumer = Consumer()
        bulky.closeGate()
        let fetches = (0..<100).map { _ in Task { try await consumer.fetch(root) } }
        await eventually("all are sent") { pair.client.committedCalls == 100 }
        // The queue that decodes the answers waits for a call whose answer comes after all of them.
        async let blocked: Void = withCheckedContinuation { continuation in
            consumer.executor.queue.async {
                do {
                    let _: Int = try root.small.blocking()
                    Issue.record("a call ran while nothing was read")
                } catch {
                    #expect((error as? ConnectionError)?.code == .overloaded, "\(error)")
                }
                continuation.resume()
            }
        }
        await eventually("the thread waits") { pair.client.committedCalls == 101 }
        bulky.openGate()
        await blocked
        var succeeded = 0
        for fetch in fetches {
            switch await fetch.result {
            case .success(let count):
                #expect(count == 300_000)
                succeeded += 1
            case .failure(let error):
                #expect((error as? ConnectionError)?.code == .overloaded, "\(error)")
            }
        }
        #expect(succeeded == bulky.runs.withLock { $0 })
        #expect(succeeded < 100)
        await pair.close()
    }

    @Test(
        "Two sides with too many unread answers and nested callbacks do not deadlock",
        arguments: [Connection.PairTransport.socketpair, .pipes])
    func nestedInUnreadAnswer(over transport: Connection.PairTransport) async throws {
        var configuration = Connection.Configuration.patient
        configuration.limits.answerPatience = .seconds(3_600)
        // Four times this is more than all results of one side.
        configuration.limits.unreadAnswers = 8 << 20
        let pair = try await Pair(client: configuration, server: configuration, over: transport)
        let (first, second) = (Bulky(), Bulky())
        pair.client.vend(first, as: "bulky")
        pair.server.vend(second, as: "bulky")
        let (there, here) = (
            try await pair.client.root(named: "bulky"), try await pair.server.root(named: "bulky")
        )
        let own = (DistantObject(standingFor: first), DistantObject(standingFor: second))
        // Nothing is decoded until both sides exceed their limits and the rest have called back.
        let consumer = Consumer()
        let fetches = (0..<200).map { number in
            let (one, other) = number % 2 == 0 ? (there, own.0) : (here, own.1)
            return Task { try await consumer.nest(one, other, callsBack: number >= 100) }
        }
        await consumer.started.wait(for: 200)
        let gate = DispatchSemaphore(value: 0)
        consumer.executor.queue.async { gate.wait() }
        // Later calls would not start.
        await first.started.wait(for: 100)
        await second.started.wait(for: 100)
        for _ in 0..<50 {
            first.go.send()
            second.go.send()
        }
        await eventually("both sides have answered") {
            first.runs.withLock { $0 } >= 50 && second.runs.withLock { $0 } >= 50
        }
        for _ in 0..<50 {
            first.callBack.send()
            second.callBack.send()
        }
        await eventually("both sides call back") {
            first.calls.withLock { $0 } >= 50 && second.calls.withLock { $0 } >= 50
        }
        gate.signal()
        for fetch in fetches { #expect(try await fetch.value == 300_000) }
        await pair.close()
    }

    @Test(
        "A thousand answers of 1 MiB at once all arrive, and their memory is returned",
        .disabled(if: Sanitizer.isAddress, "it keeps memory that is freed"))
    func burst() async {
        await #expect(processExitsWith: .success) {
            let pair = try await Pair()
            let root = try await pair.client.root
            // Memory that is allocated once for all connections does not count.
            let _: [UInt8] = try await root.made(1 << 20)
            let before = PeakMemory.resident
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        let bytes: [UInt8] = try await root.made(1 << 20)
                        return bytes.count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == [Int](repeating: 1 << 20, count: 1_000))
            #expect(PeakMemory.peak - before < 128 << 20, "\((PeakMemory.peak - before) >> 20) MiB more were used")
            await eventually("the memory is given back") { PeakMemory.resident - before < 32 << 20 }
            await pair.close()
        }
    }
}

/// Returns large answers.
private final class Bulky: Vendable {
    let runs = Mutex(0)
    let calls = Mutex(0)
    let started = Signal()
    let other = Observer()
    let go = Signal()
    let callBack = Signal()
    private let gate = Mutex(DispatchSemaphore?.none)

    static var messages: MessageTable<Bulky> {
        Message("large", Bulky.large)
        Message("later", Bulky.later)
        Message("small", Bulky.small)
        Message("nest", Bulky.nest)
        Message("bounce", Bulky.bounce)
    }

    func closeGate() { gate.withLock { $0 = DispatchSemaphore(value: 0) } }
    func openGate() { gate.withLock { $0.take() }?.signal() }

    func large() -> [UInt8] {
        gate.withLock { $0 }?.wait()
        runs.withLock { $0 += 1 }
        return [UInt8](repeating: 1, count: 300_000)
    }

    func later() async -> [UInt8] {
        started.send()
        await go.wait()
        return large()
    }

    func small() -> Int { 1 }

    /// Returns large answers, after nested callbacks if requested.
    func nest(_ other: DistantObject, _ callsBack: Bool) async throws -> [UInt8] {
        started.send()
        await (callsBack ? callBack : go).wait()
        if callsBack {
            calls.withLock { $0 += 1 }
            let depth: Int = try await other.bounce(DistantObject(standingFor: self), 4)
            #expect(depth == 4)
        }
        return large()
    }

    func bounce(_ other: DistantObject, _ depth: Int) async throws -> Int {
        if depth == 0 { return 0 }
        let deeper: Int = try await other.bounce(DistantObject(standingFor: self), depth - 1)
        return deeper + 1
    }
}

/// Decodes answers on a separate queue, as the main actor does.
private actor Consumer {
    nonisolated let executor = QueueExecutor()
    nonisolated let started = Signal()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func fetch(_ root: DistantObject) async throws -> Int {
        let bytes: [UInt8] = try await root.large()
        return bytes.count
    }

    func nest(_ root: DistantObject, _ other: DistantObject, callsBack: Bool) async throws -> Int {
        started.send()
        let bytes: [UInt8] = try await root.nest(other, callsBack)
        return bytes.count
    }
}

private final class QueueExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "consumer")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// Reads everything, and returns no credit for large messages until the test says so.
///
/// Used by one thread at a time.
private final class GreedyPeer: @unchecked Sendable {
    let raw: RawPeer
    private(set) var bytes = 0
    private(set) var results = 0
    private(set) var refusals = 0
    private(set) var refusalCodes: Set<UInt8> = []
    /// The lengths of the large messages under way, by the number of their opener.
    private var lengths: [UInt64: UInt64] = [:]
    private var owed: UInt64 = 0
    /// The server's `Hello` and the answers to the look-ups.
    private var openers: UInt64 = 3

    init(_ raw: RawPeer) { self.raw = raw }

    func ask(_ name: String, _ question: UInt64) {
        raw.send(
            2,
            RawPeer.call(question: question, slot: 1, name: [1] + RawPeer.text(name), arguments: 0, body: [0, 0]))
    }

    /// To the other object, whose mailbox is empty.
    func sendOneWay() {
        raw.send(
            2, flags: 1,
            Array(
                RawPeer.call(slot: 2, name: [1] + RawPeer.text("note"), body: [0, 2, 0x81, 0x78]).dropFirst()))
    }

    func giveBack() {
        guard owed > 0 else { return }
        raw.send(7, flags: 1, RawPeer.number(owed))
        owed = 0
    }

    /// Reads until the condition holds, or until the end.
    func read(until isDone: () -> Bool) {
        while !isDone(), let frame = raw.read() { take(frame) }
    }

    private func take(_ frame: RawPeer.Frame) {
        guard frame.kind != 255 else {
            bytes += frame.body.count - 8
            guard frame.flags & 1 != 0 else { return }
            let number = (0..<8).reduce(UInt64(0)) { $0 | UInt64(frame.body[$1]) << UInt64(8 * $1) }
            owed += lengths.removeValue(forKey: number) ?? 0
            results += 1
            return
        }
        openers += 1
        guard frame.kind == 3 else { return }
        if frame.flags & 0x80 != 0 {
            lengths[openers] = (0..<8).reduce(UInt64(0)) { $0 | UInt64(frame.body[$1]) << UInt64(8 * $1) }
        } else if frame.flags == 2 {
            refusals += 1
            // The question, empty tables, no objects, the length of the values, and the code as a small integer.
            var body = frame.body[...]
            for _ in 0..<5 { _ = RawPeer.takeNumber(&body) }
            refusalCodes.insert(body.first ?? 0)
        }
    }
}
