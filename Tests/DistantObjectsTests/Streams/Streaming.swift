import Synchronization
import TestSupport
import Testing

@testable import DistantObjects

/// An object whose messages return and take streams.
final class Streaming: Vendable {
    struct Report: Codable, Sendable {
        var title: String
        var parts: [DistantStream<Int>]
    }

    struct Broken: Codable, Sendable {
        var isBroken = false

        func encode(to encoder: any Encoder) throws {
            if isBroken { throw NotFound(name: "no form") }
            var container = encoder.singleValueContainer()
            try container.encode(1)
        }

        init(isBroken: Bool) { self.isBroken = isBroken }

        init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(Int.self) }
    }

    static var messages: MessageTable<Streaming> {
        Message("count", Streaming.count)
        Message("endless", Streaming.endless)
        Message("endlessFinal", Streaming.endlessFinal)
        Message("held", Streaming.held)
        Message("heldLater", Streaming.heldLater)
        Message("hold", Streaming.hold)
        Message("echoes", Streaming.echoes)
        Message("slow", Streaming.slow)
        Message("failing", Streaming.failing)
        Message("objects", Streaming.objects)
        Message("report", Streaming.report)
        Message("summed", Streaming.summed)
        Message("sum", Streaming.sum)
        Message("take", Streaming.take)
        Message("kept", Streaming.kept)
        Message("keptFinal", Streaming.keepFinal)
        Message("doubled", Streaming.doubled)
        Message("takeNothing", Streaming.takeNothing)
        Message("blobs", Streaming.blobs)
        Message("broken", Streaming.broken)
        Message("same", Streaming.same)
        Message("first", Streaming.first)
        Message("ages", Streaming.ages)
    }

    /// Sent when a source was released or its task has ended.
    let released = Signal()
    let started = Signal()
    let cancelled = Signal()
    let gate = Signal()
    /// The elements that `endless` has sent.
    let sent = Atomic<Int>(0)
    let keptStream = Locked<DistantStream<Int>?>(nil)
    let keptFinal = Locked<DistantStream<Int>.WithFinal<Int>?>(nil)

    func count(_ number: Int) -> DistantStream<Int> { DistantStream(0..<number) }

    func endless(_ size: Int) -> DistantStream<[UInt8]> {
        let guarded = Guarded(released)
        return DistantStream { [self] writer in
            defer { withExtendedLifetime(guarded) {} }
            started.send()
            let block = [UInt8](repeating: 7, count: size)
            do {
                while true {
                    try await writer.send(block)
                    sent.wrappingAdd(1, ordering: .relaxed)
                }
            } catch {
                cancelled.send()
                throw error
            }
        }
    }

    func endlessFinal() -> DistantStream<Int>.WithFinal<Int> {
        DistantStream<Int>.WithFinal { writer in while true { try await writer.send(1) } }
    }

    /// A stream of `AsyncStream`, which notes when it is released.
    func held() -> DistantStream<Int> {
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        continuation.onTermination = { [released] _ in released.send() }
        continuation.yield(1)
        return DistantStream(stream)
    }

    /// As `held`, however the call has ended meanwhile.
    func heldLater() async -> DistantStream<Int> {
        started.send()
        await gate.wait(for: 2)
        return held()
    }

    /// Keeps a stream unread, however the call has ended meanwhile.
    func hold(_ numbers: DistantStream<Int>) async {
        started.send()
        await gate.wait()
        withExtendedLifetime(numbers) {}
    }

    /// Calls each object of a stream.
    @concurrent
    func echoes(_ objects: DistantStream<DistantObject>) async throws -> Int {
        var count = 0
        for try await object in objects { count += try await object.echo(1) as Int }
        return count
    }

    /// Sends each number after the one before was acknowledged by `release`.
    func slow(_ gate: DistantStream<Int>) -> DistantStream<Int> {
        DistantStream { writer in
            for try await number in gate { try await writer.send(number * 10) }
        }
    }

    func failing(_ number: Int) -> DistantStream<Int> {
        DistantStream { writer in
            for index in 0..<number { try await writer.send(index) }
            throw NotFound(name: "the rest")
        }
    }

    func objects(_ number: Int) -> DistantStream<DistantObject> {
        DistantStream { writer in
            for _ in 0..<number { try await writer.send(DistantObject(standingFor: Directory())) }
        }
    }

    func report() -> Report {
        Report(title: "two", parts: [DistantStream(0..<3), DistantStream(10..<12)])
    }

    func summed(_ number: Int) -> DistantStream<Int>.WithFinal<String> {
        DistantStream<Int>.WithFinal { writer in
            var sum = 0
            for index in 0..<number {
                try await writer.send(index)
                sum += index
            }
            return "sum \(sum)"
        }
    }

    @concurrent
    func sum(_ numbers: DistantStream<Int>) async throws -> Int {
        var sum = 0
        for try await number in numbers { sum += number }
        return sum
    }

    @concurrent
    func take(_ numbers: DistantStream<Int>, _ count: Int) async throws -> Int {
        var taken = 0
        for try await _ in numbers {
            taken += 1
            if taken == count { break }
        }
        return taken
    }

    func kept(_ numbers: DistantStream<Int>) { keptStream.withLock { $0 = numbers } }

    func keepFinal(_ numbers: DistantStream<Int>.WithFinal<Int>) { keptFinal.withLock { $0 = numbers } }

    func doubled(_ numbers: DistantStream<Int>) -> DistantStream<Int> { DistantStream(numbers.map { $0 * 2 }) }

    func takeNothing(_ number: Int) throws { throw NotFound(name: "\(number)") }

    func blobs(_ count: Int, _ size: Int) -> DistantStream<[UInt8]> {
        DistantStream { writer in
            for index in 0..<count { try await writer.send([UInt8](repeating: UInt8(index & 255), count: size)) }
        }
    }

    func broken(_ before: Int) -> DistantStream<Broken> {
        DistantStream { writer in
            for _ in 0..<before { try await writer.send(Broken(isBroken: false)) }
            try await writer.send(Broken(isBroken: true))
        }
    }

    /// Whether the stream is the one that `kept` got.
    func same(_ numbers: DistantStream<Int>) -> DistantStream<Int> { numbers }

    @concurrent
    func ages(_ foos: DistantStream<BoxedFoo>) async throws -> Int {
        var sum = 0
        for try await foo in foos { sum += foo.value }
        return sum
    }

    @concurrent
    func first(_ numbers: DistantStream<Int>) async throws -> Int? {
        try await numbers.first { _ in true }
    }
}

/// Sends a signal when it is freed.
final class Guarded: Sendable {
    private let signal: Signal

    init(_ signal: Signal) { self.signal = signal }

    deinit { signal.send() }
}

/// Two connected ends; the second one vends a `Streaming`.
struct StreamPair {
    let client: Connection
    let server: Connection
    let object = Streaming()
    let remote: DistantObject

    enum Transport: String, CaseIterable, Sendable { case memory, socket, pipes }

    init(
        _ transport: Transport = .socket, client: Connection.Configuration = .patient,
        server: Connection.Configuration = .patient
    ) async throws {
        var (client, server) = (client, server)
        client.errorTypes = [NotFound.self]
        server.errorTypes = [NotFound.self]
        client.busy = .always
        client.sharesMemory = transport == .memory
        server.sharesMemory = transport == .memory
        (self.client, self.server) = try await Connection.pair(
            over: transport == .pipes ? .pipes : .socketpair, first: client, second: server)
        self.server.vend(object)
        remote = try await self.client.root
        while transport == .memory, !self.client.isInSharedMemory || !self.server.isInSharedMemory {
            try await self.client.ping()
        }
    }

    /// Waits until the writer of the object's stream waits for its reader, which does not read meanwhile.
    func suspendWriter() async throws {
        // All credit that the reader has given until now comes before this.
        try await client.ping()
        await eventually("the writer is suspended") {
            server.state.withLock { state in
                state.session.streams.all.outgoing.contains { $0.allowance == 0 && !$0.waiters.isEmpty }
            }
        }
    }

    /// Waits until no stream is open.
    func rest() async {
        await eventually("no stream is open: \(client.statistics) \(server.statistics)") {
            client.statistics.streams == 0 && server.statistics.streams == 0
        }
    }

    func close() async {
        await client.close()
        _ = await server.ended
        #expect(client.statistics.streams == 0 && server.statistics.streams == 0)
    }
}

extension DistantStream {
    /// All elements.
    func all() async throws -> [Element] {
        var all: [Element] = []
        for try await element in self { all.append(element) }
        return all
    }
}

/// A value that is archived as an object of a class.
struct BoxedFoo: Codable, Sendable {
    let value: Int

    init(value: Int) { self.value = value }

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Foo.self).age
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Foo(name: "a", age: value))
    }
}
