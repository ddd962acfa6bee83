import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Lost one-way messages", .bounded())
struct OneWayLossTests {
    @Test(
        "Messages that are unwritten when the connection is cut are counted as lost, each once, many small ones too",
        arguments: [4_000, 10])
    func unwrittenInOneWayLoss(size: Int) async throws {
        let pair = try await RawPeerConnection(
            .socketpair, hello: RawPeer.greeting(queuedCalls: 1 << 20, runningCalls: 1 << 20, features: 4))
        let root = try await pair.root()
        let text = String(repeating: "x", count: size)
        var sent = 0
        while sent < 40_000, try root.note.offer(text) { sent += 1 }
        pair.connection.invalidate()
        let losses = await pair.connection.close()
        let raw = pair.raw
        let received = try await onThread { () -> Int in
            var received = 0
            while let frame = raw.read() { received += frame.kind == 2 ? 1 : 0 }
            return received
        }
        #expect(received > 0 && losses.count > 0)
        #expect(received + losses.count == sent)
        #expect(losses.first?.code == .notSent)
        let again = await pair.connection.close()
        #expect(again.count == losses.count)
    }

    @Test("With an older peer one-way messages use call credit, and failures reach their sender")
    func olderReceiver() async throws {
        let pair = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(queuedCalls: 4))
        // The look-up is the first of four.
        let root = try await pair.root()
        for number in 0..<3 { #expect(try root.note.offer(number)) }
        #expect(try !root.note.offer(3))
        let waiting = Task { try await root.note.oneWay(3) }
        await eventually("it waits") { pair.connection.statistics.pending == 1 }
        // A call waits behind it: both use the same credit.
        let call = Task { () -> Int in try await root.count() }
        await eventually("both wait") { pair.connection.statistics.pending == 2 }
        let raw = pair.raw
        let kinds = try await onThread { () -> [UInt8] in
            var flags: [UInt8] = []
            for _ in 0..<3 { flags.append(raw.read()?.flags ?? 0xFF) }
            raw.send(7, [2])
            for _ in 0..<2 { flags.append(raw.read()?.flags ?? 0xFF) }
            // The one-way message behind the greeting and the look-up was refused as overloaded.
            raw.send(13, [3, 7] + RawPeer.text("no room"))
            raw.send(3, RawPeer.result())
            return flags
        }
        #expect(kinds == [1, 1, 1, 1, 0])
        try await waiting.value
        #expect(try await call.value == 5)
        let lost = await #expect(throws: ConnectionError.self) { try await root.note.oneWay(4) }
        #expect(lost?.code == .oneWayLost && lost?.isSafeToRetry == true)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Progress reports are dropped when the queue is full, and the method goes on")
    func unreadProgress() async throws {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        raw.send(1, RawPeer.greeting(queuedCalls: 1 << 40, runningCalls: 1 << 40, message: 1 << 40, features: 4))
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, .patient)
        let flooder = Flooder()
        connection.vend(flooder)
        _ = try await onThread { raw.read() }
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        let answer = try await onThread { raw.read() }
        #expect(answer?.kind == 3)
        // Both have an object of the peer as their argument.
        for (question, name) in [(1, "fill"), (2, "report")] as [(UInt64, String)] {
            raw.send(
                2,
                RawPeer.call(
                    question: question, slot: 1, name: [0] + RawPeer.text(name), references: [1, 1, 1, 0],
                    body: [0, 2, 0xD7, 0]))
        }
        await flooder.reported.wait()
        let (names, answers) = try await onThread { () -> ([String], Int) in
            var (names, answers): ([String], Int) = ([], 0)
            while answers < 2, let frame = raw.read() {
                if frame.kind == 2 {
                    // Only the first message with a name contains its text.
                    for name in ["note", "report"] where String(decoding: frame.body, as: UTF8.self).contains(name) {
                        names.append(name)
                    }
                }
                if frame.kind == 3 { answers += 1 }
            }
            return (names, answers)
        }
        #expect(answers == 2)
        #expect(names == ["note"])
        raw.close()
        _ = await connection.ended
    }
}

/// Sends more than the receiver should have to keep.
private final class Flooder: Vendable {
    let reported = Signal()
    private let other = Mutex<DistantObject?>(nil)

    static var messages: MessageTable<Flooder> {
        Message("fill", Flooder.fill)
        Message("report", Flooder.report)
    }

    func fill(_ other: DistantObject) throws {
        self.other.withLock { $0 = other }
        let text = String(repeating: "x", count: 4_000)
        while try other.note.offer(text) {}
    }

    func report(_ progress: ProgressReporter) throws {
        // The socket buffer is full now, so there is no more room.
        if let other = other.withLock({ $0 }) { try fill(other) }
        for step in 0..<10 { progress.report(Int64(step)) }
        reported.send()
    }
}
