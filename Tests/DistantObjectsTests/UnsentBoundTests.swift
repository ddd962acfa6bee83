import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Limits of unsent bytes", .bounded())
struct UnsentBoundTests {
    /// A connection to a peer that grants unlimited credit and reads nothing.
    private func generous() async throws -> RawPeerConnection {
        let pair = try await RawPeerConnection(
            .socketpair,
            hello: RawPeer.greeting(queuedCalls: 1 << 40, runningCalls: 1 << 40, message: 1 << 40, features: 4))
        return pair
    }

    @Test("One-way messages to a peer that reads nothing use at most a few MiB, whatever it grants")
    func smallFrames() async throws {
        let pair = try await generous()
        let root = try await pair.root()
        let text = String(repeating: "x", count: 4_000)
        var sent = 0
        while sent < 20_000, try root.note.offer(text) { sent += 1 }
        // The socket buffer holds some of them.
        #expect((1_000..<4_000).contains(sent))
        // Progress reports are dropped and do not wait.
        #expect(try !root.note.offer(1))
        let waiting = (0..<10).map { _ in Task { try await root.note.oneWay(text) } }
        await eventually("they wait") { pair.connection.statistics.pending == 10 }
        let isPinged = Signal()
        let ping = Task {
            try await pair.connection.ping()
            isPinged.send()
        }
        // They continue when the peer reads.
        let raw = pair.raw
        let total = sent + 10
        let calls = try await onThread { () -> Int in
            var (calls, pings) = (0, 0)
            while calls < total || pings < 1, let frame = raw.read() {
                if frame.kind == 2 { calls += 1 }
                if frame.kind == 11 {
                    pings += 1
                    raw.send(12, frame.body)
                }
            }
            return calls
        }
        #expect(calls == total)
        for task in waiting { try await task.value }
        try await ping.value
        #expect(isPinged.count == 1)
        pair.raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Large messages have a separate limit, small ones overtake them, and one always fits")
    func largeMessages() async throws {
        let pair = try await generous()
        let root = try await pair.root()
        let large = [UInt8](repeating: 7, count: 3 << 20)
        var sent = 0
        while sent < 100, try root.note.offer(large) { sent += 1 }
        #expect((10...12).contains(sent))
        #expect(try root.note.offer("small"))
        let waiting = Task { try await root.note.oneWay(large) }
        await eventually("it waits") { pair.connection.statistics.pending == 1 }
        #expect(try root.note.offer("small"))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        pair.raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)

        let other = try await generous()
        let alone = try await other.root()
        #expect(try alone.note.offer([UInt8](repeating: 7, count: 40 << 20)))
        #expect(try !alone.note.offer(large))
        other.raw.close()
        await other.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Many large calls at once all succeed")
    func manyLarge() async throws {
        let pair = try await Pair()
        let root = try await pair.client.root
        try await withThrowingTaskGroup { group in
            for number in 0..<60 {
                group.addTask {
                    let bytes = [UInt8](repeating: UInt8(number), count: 2 << 20)
                    let back: [UInt8] = try await root.bytes(bytes)
                    #expect(back == bytes)
                }
            }
            try await group.waitForAll()
        }
        await pair.close()
    }
}
