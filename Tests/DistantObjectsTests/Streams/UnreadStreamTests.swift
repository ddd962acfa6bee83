import DistantObjects
import TestSupport
import Testing

@Suite("Streams that nothing reads", .bounded())
struct UnreadStreamTests {
    @Test("A stream that is never iterated releases its sequence")
    func neverIterated() async throws {
        let pair = try await StreamPair()
        do {
            let stream: DistantStream<Int> = try await pair.remote.held()
            withExtendedLifetime(stream) {}
        }
        await pair.object.released.wait()
        await pair.rest()
        await pair.close()
    }

    @Test("A stream in a message that is refused, not decoded or one-way is given up")
    func undecoded() async throws {
        let pair = try await StreamPair()
        let released = Signal()
        func source() -> DistantStream<Int> {
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            continuation.onTermination = { _ in released.send() }
            return DistantStream(stream)
        }
        // No such message; another argument type; an argument too many; a result that is not asked for; a one-way message.
        await expectCode(.noSuchMessage) { let _: Int = try await pair.remote.message("none")(source()) }
        await expectCode(.wrongArgument) { let _: Int = try await pair.remote.message("count")(source()) }
        await expectCode(.wrongArgument) { let _: Int = try await pair.remote.message("sum")(source(), 1) }
        try await pair.remote.message("held")()
        try await pair.remote.message("held").oneWay()
        try await pair.remote.message("kept").oneWay(source())
        try await pair.client.barrier()
        pair.object.keptStream.withLock { $0 = nil }
        await eventually("all sources are released") { released.count == 4 && pair.object.released.count == 2 }
        await pair.rest()
        await pair.close()
    }

    @Test("A stream in a call that is cancelled is given up, as an argument and as a result that comes too late")
    func cancelledCall() async throws {
        let pair = try await StreamPair()
        let released = Signal()
        func source() -> DistantStream<Int> {
            let guarded = Guarded(released)
            return DistantStream { writer in
                try await writer.send(1)
                withExtendedLifetime(guarded) {}
            }
        }
        let sending = Task { [stream = source()] in try await pair.remote.message("hold")(stream) }
        await pair.object.started.wait()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        pair.object.gate.send()
        await released.wait()
        let receiving = Task { try await pair.remote.message("heldLater")() as DistantStream<Int> }
        await pair.object.started.wait(for: 2)
        receiving.cancel()
        await #expect(throws: CancellationError.self) { try await receiving.value }
        pair.object.gate.send()
        await pair.object.released.wait()
        await pair.rest()
        await pair.close()
    }

    @Test("A stream that was not read is passed back, and is the sequence itself again")
    func passBackInUnreadStream() async throws {
        let pair = try await StreamPair()
        let own = DistantStream(0..<5)
        let back: DistantStream<Int> = try await pair.remote.same(own)
        // Behind what the client sends when the stream comes back.
        try await pair.client.ping()
        let frames = pair.server.statistics.framesIn
        #expect(try await back.all() == [0, 1, 2, 3, 4])
        #expect(pair.server.statistics.framesIn == frames)
        let theirs: DistantStream<Int> = try await pair.remote.count(4)
        let sum: Int = try await pair.remote.sum(theirs)
        #expect(sum == 6)
        await pair.rest()
        await pair.close()
    }
}
