import DistantObjects
import Synchronization
import TestSupport
import Testing

/// An object whose stream sends what a test tells it to.
private final class Writing: Vendable {
    static var messages: MessageTable<Writing> { Message("texts", Writing.texts) }

    private let body: @Sendable (StreamWriter<String>) async throws -> Void

    init(_ body: @escaping @Sendable (StreamWriter<String>) async throws -> Void) { self.body = body }

    func texts() -> DistantStream<String> { DistantStream { [body] writer in try await body(writer) } }
}

@Suite("Writers of streams", .bounded())
struct StreamWriterTests {
    private func texts(
        server: Connection.Configuration = .patient, client: Connection.Configuration = .patient,
        _ body: @escaping @Sendable (StreamWriter<String>) async throws -> Void
    ) async throws -> (Pair, DistantStream<String>) {
        let pair = try await Pair(client: client, server: server)
        pair.server.vend(Writing(body), as: "writing")
        let object = try await pair.client.root(named: "writing")
        return (pair, try await object.texts())
    }

    @Test("Several tasks may send at the same time")
    func concurrent() async throws {
        let (pair, stream) = try await texts { writer in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask { for number in 0..<1_000 { try await writer.send("\(task) \(number)") } }
                }
                try await group.waitForAll()
            }
        }
        var last: [Substring: Int] = [:]
        var count = 0
        for try await text in stream {
            let parts = text.split(separator: " ")
            let number = try #require(Int(parts[1]))
            #expect(number == last[parts[0], default: -1] + 1)
            last[parts[0]] = number
            count += 1
        }
        #expect(count == 8_000)
        await pair.client.close()
    }

    @Test("A closure on the main actor sends without a delay")
    func mainActor() async throws {
        let gate = Signal()
        let (pair, stream) = try await texts { writer in
            try await Task { @MainActor in
                try await writer.send("first")
                await gate.wait()
                try await writer.send("second")
            }.value
        }
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == "first")
        gate.send()
        #expect(try await iterator.next() == "second")
        #expect(try await iterator.next() == nil)
        await pair.client.close()
    }

    @Test("An element that the reader does not take throws at its writer, and the next one goes through")
    func tooLarge() async throws {
        var client = Connection.Configuration.patient
        client.limits.message = 100_000
        let codes = Locked<[ConnectionError.Code]>([])
        let (pair, stream) = try await texts(client: client) { writer in
            for size in [10, 200_000, 20, 90_000, 150_000, 30] {
                do {
                    try await writer.send(String(repeating: "x", count: size))
                } catch let error as ConnectionError {
                    codes.withLock { $0.append(error.code) }
                }
            }
        }
        #expect(try await stream.all().map(\.count) == [10, 20, 90_000, 30])
        #expect(codes.withLock { $0 } == [.tooLarge, .tooLarge])
        await pair.client.close()
    }

    @Test("A writer that goes on after its reader has stopped gets an error each time")
    func stoppedInStreamWriter() async throws {
        let codes = Locked<[ConnectionError.Code?]>([])
        let ended = Signal()
        let (pair, stream) = try await texts { writer in
            defer { ended.send() }
            var failures = 0
            while failures < 3 {
                do {
                    try await writer.send("x")
                } catch {
                    failures += 1
                    codes.withLock { $0.append((error as? ConnectionError)?.code) }
                }
            }
        }
        for try await _ in stream { break }
        await ended.wait()
        #expect(codes.withLock { $0 }.allSatisfy { $0 == nil || $0 == .cancelled })
        await eventually("the stream has ended") { pair.server.statistics.streams == 0 }
        await pair.client.close()
    }

    @Test("A writer that is kept beyond its closure gets an error, and the connection goes on")
    func keptInStreamWriter() async throws {
        let kept = Locked<StreamWriter<String>?>(nil)
        let (pair, stream) = try await texts { writer in
            try await writer.send("in time")
            kept.withLock { $0 = writer }
        }
        #expect(try await stream.all() == ["in time"])
        let writer = try #require(kept.withLock { $0 })
        for _ in 0..<3 { await expectCode(.cancelled) { try await writer.send("late") } }
        await expectCode(.cancelled) { try await onThread { try writer.blockingSend("late") } }
        try await pair.client.ping()
        await pair.client.close()
    }

    @Test("A task that waits for room when the closure returns gets an error")
    func keptWaiting() async throws {
        let task = Locked<Task<Void, any Error>?>(nil)
        let full = Signal()
        let (pair, stream) = try await texts { writer in
            task.withLock {
                $0 = Task {
                    for number in 0... {
                        if number == 8_192 { full.send() }
                        try await writer.send("late")
                    }
                }
            }
            await full.wait()
        }
        var iterator = stream.makeAsyncIterator()
        while try await iterator.next() != nil {}
        let waiting = try #require(task.withLock { $0 })
        await expectCode(.cancelled) { try await waiting.value }
        try await pair.client.ping()
        await pair.client.close()
    }

    @Test("Objects with shared parts are copied within each element", arguments: [1, 300])
    func graphsInStreamWriter(count: Int) async throws {
        let pair = try await StreamPair()
        let sum: Int = try await pair.remote.ages(
            DistantStream((0..<count).map { BoxedFoo(value: $0) }))
        #expect(sum == count * (count - 1) / 2)
        await pair.close()
    }
}
