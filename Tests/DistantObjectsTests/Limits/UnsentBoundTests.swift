import CPortShims
import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Limits of unsent bytes", .bounded())
struct UnsentBoundTests {
    /// A connection to a peer that grants unlimited credit and reads nothing.
    private func generous(_ limits: Connection.Limits = .init()) async throws -> RawPeerConnection {
        try await RawPeerConnection(
            .socketpair,
            hello: RawPeer.greeting(queuedCalls: 1 << 40, runningCalls: 1 << 40, message: 1 << 40, features: 4),
            limits: limits)
    }

    private static let text = String(repeating: "x", count: 4_000)

    /// Sends one-way messages until the queue is full.
    ///
    /// - Returns: How many were sent.
    private static func fill(_ root: DistantObject) throws -> Int {
        var sent = 0
        while sent < 20_000, try root.note.offer(text) { sent += 1 }
        return sent
    }

    /// A second object of the peer.
    private static func other(of root: DistantObject, _ raw: RawPeer) async throws -> DistantObject {
        async let other: DistantObject = root.other()
        let call = try await onThread { raw.read() }
        #expect(call?.kind == 2)
        raw.send(3, RawPeer.result(slot: 2))
        return try await other
    }

    @Test("One-way messages to a peer that reads nothing use 4 MiB and the kernel's buffer, whatever it grants")
    func smallFrames() async throws {
        let pair = try await generous()
        let root = try await pair.root()
        let sent = try Self.fill(root)
        // A frame is a little longer than its text.
        #expect(sent * (Self.text.utf8.count + 100) >= 4 << 20)
        // Both ends have the buffer of a new socket. The kernel may exceed it by one piece, which is at most as large.
        let buffer = Int(port_send_buffer(pair.raw.descriptor))
        try #require(buffer > 0)
        #expect((sent - 1) * Self.text.utf8.count <= (4 << 20) + 2 * buffer, "\(sent)")
        // Progress reports are dropped and do not wait.
        #expect(try !root.note.offer(1))
        let waiting = (0..<10).map { _ in Task { try await root.note.oneWay(Self.text) } }
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

    @Test("Answers, cancellations, credit and releases do not wait behind a full queue")
    func repliesDoNotWait() async throws {
        var limits = Connection.Limits()
        // The credit of each one-way message is returned at once.
        limits.runningCalls = 1
        let pair = try await generous(limits)
        let (connection, raw) = (pair.connection, pair.raw)
        let observer = Observer()
        connection.vend(observer)
        let root = try await pair.root()
        var other: DistantObject? = try await Self.other(of: root, raw)
        let call = Task { () -> Int in try await root.slow() }
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        let frames = try await onThread { [raw.read(), raw.read()] }
        #expect(Set(frames.compactMap(\.?.kind)) == [2, 3])

        let sent = try Self.fill(root)
        let waiting = (0..<3).map { _ in Task { try await root.note.oneWay("waits") } }
        await eventually("they wait") { connection.statistics.pending == 3 }
        let written = connection.statistics.framesOut
        raw.send(2, RawPeer.call(slot: 1, name: [0] + RawPeer.text("count"), arguments: 0, body: [0, 0]))
        await eventually("the call is answered") { connection.statistics.framesOut == written + 1 }
        let note = RawPeer.call(slot: 1, name: [0] + RawPeer.text("note"), body: [0, 2, 0x81, 0x78])
        raw.send(2, flags: 1, Array(note.dropFirst()))
        await eventually("the credit is returned") { connection.statistics.framesOut == written + 2 }
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        withExtendedLifetime(other) {}
        other = nil
        await eventually("the object is released") { connection.statistics.framesOut == written + 4 }
        #expect(other == nil && connection.statistics.pending == 3)
        #expect(observer.notes.withLock { $0 } == ["x"])

        let kinds = try await onThread { () -> [UInt8] in
            var kinds: [UInt8] = []
            while kinds.count < sent + 7, let frame = raw.read() { kinds.append(frame.kind) }
            return kinds
        }
        // The answer, the credit, the cancellation and the release come behind what was sent, and before what waits.
        let own = [UInt8](repeating: 2, count: sent)
        #expect(kinds == own + [3, 7, 4, 6] + [2, 2, 2], "\(kinds.suffix(20))")
        for task in waiting { try await task.value }
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Large messages have a separate limit, small ones overtake them, and one always fits")
    func largeMessagesInUnsentBound() async throws {
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
