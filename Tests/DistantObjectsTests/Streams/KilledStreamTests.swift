import DistantObjects
import TestSupport
import Testing

/// Kills one side of a stream at each of its steps.
///
/// `DISTANT_KILLS=n swift test --filter KilledStream` sets the number of kills. They run in a separate process, because they
/// count its resources.
@Suite("Killing a side of a stream", .serialized, .bounded())
struct KilledStreamTests {
    @Test("Each operation ends once, says what is known of it, and nothing is left")
    func killInKilledStream() async {
        await #expect(processExitsWith: .success) {
            try await KilledProcess.killAtEachStep(
                KilledStream.steps.map { step in { way in try await KilledStream.kill(at: step, over: way) } })
        }
    }
}

/// A process that is killed while it sends or reads a stream.
private struct KilledStream: Sendable {
    typealias Numbers = DistantStream<[Int]>.WithFinal<Int>

    private let process: KilledProcess
    private let spring: DistantObject

    /// The steps of a stream that the other side sends, then those of one that it reads.
    static let steps: [@Sendable (KilledStream) async throws -> Void] = [
        { try await $0.unread() }, { try await $0.begun() }, { try await $0.endless() }, { try await $0.skipped() },
        { try await $0.arriving("first item") }, { try await $0.arriving("some items") },
        { try await $0.arriving("within a large item") }, { try await $0.arriving("last item") },
        { try await $0.unsent() }, { try await $0.full() }, { try await $0.passedBack() },
        { try await $0.sending("received") }, { try await $0.sending("credited") },
        { try await $0.sending("some read") }, { try await $0.sending("stopped") },
        { try await $0.sending("all read") }, { try await $0.sending("final value read") },
    ]

    static func kill(
        at step: @Sendable (KilledStream) async throws -> Void, over way: KilledProcess.Way
    ) async throws {
        let process = try await KilledProcess("killed-peer", over: way)
        try await step(KilledStream(process: process, spring: try await process.connection.root(named: "spring")))
        await process.expectEnd()
    }

    private func kill() async {
        process.kill()
        _ = await process.connection.ended
    }

    // MARK: The other side sends

    private func numbers(_ count: Int = 600, _ step: String = "the end") async throws -> Numbers {
        try await spring.numbers(count, step)
    }

    /// Reads until the connection is lost.
    private func reading(_ stream: Numbers, _ arrived: @escaping @Sendable (Int) -> Void = { _ in }) -> CountedCall {
        CountedCall {
            var read = 0
            for try await number in stream {
                #expect(number.first == read)
                read += 1
                arrived(read)
            }
            Issue.record("the stream ended after \(read)")
        }
    }

    /// Checks that the reader has failed, and what asks for the stream later, too.
    private func expectLost(_ stream: Numbers, _ reading: CountedCall) async {
        await reading.expect(.outcomeUnknown)
        await CountedCall { _ = try await stream.final }.expect(.outcomeUnknown)
        await expectCode(.streamUsed) { for try await _ in stream {} }
    }

    private func unread() async throws {
        let stream = try await numbers()
        await kill()
        await expectLost(stream, reading(stream))
    }

    /// The reader waits for a process that does not run.
    private func begun() async throws {
        let stream = try await numbers()
        await process.connection.child?.stop()
        let reading = reading(stream)
        await Task.yield()
        await kill()
        await expectLost(stream, reading)
    }

    private func endless() async throws {
        let stream = try await numbers(Int.max)
        let arrived = Signal()
        let reading = reading(stream) { if $0 == 100 { arrived.send() } }
        await arrived.wait()
        await kill()
        await expectLost(stream, reading)
    }

    /// Only the final value is waited for, twice.
    private func skipped() async throws {
        let stream = try await numbers(Int.max)
        let final = CountedCall { _ = try await stream.final }
        let other = CountedCall { _ = try await stream.final }
        try await process.connection.ping()
        await kill()
        await other.expect(.outcomeUnknown)
        await expectLost(stream, final)
    }

    private func arriving(_ step: String) async throws {
        let stream = try await numbers(600, step)
        await expectLost(stream, reading(stream))
    }

    // MARK: The other side reads

    /// A stream of this process, and how often its code starts and ends and is released.
    private struct Own: Sendable {
        let started = Signal()
        let ended = Signal()
        let released = Signal()
        let stream: Numbers

        init(_ count: Int = 500) {
            let guarded = Guarded(released)
            stream = Numbers { [started, ended] writer in
                defer { withExtendedLifetime(guarded) {} }
                started.send()
                defer { ended.send() }
                for number in 0..<count { try await writer.send([number]) }
                return count
            }
        }

        /// Checks that the stream, which was sent, has ended.
        func expectEnd() async {
            await expectCode(.streamUsed) { for try await _ in stream {} }
            await released.wait()
            #expect(started.count <= 1 && ended.count == started.count && released.count == 1)
        }
    }

    private func send(_ own: Own, _ step: String = "the end") -> CountedCall {
        CountedCall { [spring, stream = own.stream] in try await spring.message("read")(stream, step) }
    }

    private func unsent() async throws {
        await process.connection.child?.stop()
        let own = Own()
        let call = send(own)
        await eventually("the call is committed") { process.connection.committedCalls == 1 }
        await kill()
        await call.expect(oneOf: [.outcomeUnknown, .notSent])
        #expect(own.started.count == 0)
        await own.expectEnd()
    }

    /// The stream is written until there is no room.
    private func full() async throws {
        let own = Own(Int.max)
        let call = send(own)
        await own.started.wait()
        await process.connection.child?.stop()
        await kill()
        await call.expect(.outcomeUnknown)
        await own.expectEnd()
    }

    private func passedBack() async throws {
        let own = Own()
        let same: Numbers = try await spring.same(own.stream)
        await kill()
        // It is this process's own stream, which nothing has read.
        var count = 0
        for try await number in same {
            #expect(number == [count])
            count += 1
        }
        #expect(try await same.final == 500 && count == 500)
    }

    private func sending(_ step: String) async throws {
        let own = Own()
        await send(own, step).expect(.outcomeUnknown)
        _ = await process.connection.ended
        await own.expectEnd()
    }
}
