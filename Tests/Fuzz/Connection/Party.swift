import Glibc
import Synchronization

@testable import DistantObjects
@testable import PortTransport

/// A connection under test, with a client that calls the peer and an oracle that counts how its calls end.
final class Party {
    let loop: any PortLoop
    private(set) weak var watched: Connection?
    private(set) var connection: Connection?
    let counts = Counts()

    final class Counts: Sendable {
        let begun = Atomic<Int>(0)
        let ended = Atomic<Int>(0)
        /// Objects of the peer that fit the interface.
        let typed = Atomic<Int>(0)

        func attempt(_ body: () async throws -> Void) async {
            begun.add(1, ordering: .relaxed)
            try? await body()
            ended.add(1, ordering: .relaxed)
        }

        /// Starts an attempt in a separate task, which does not inherit the loop.
        ///
        /// The attempt counts as begun before the task runs: otherwise a task that runs late could begin after all
        /// others have ended.
        @discardableResult
        func spawn(on loop: any PortLoop, _ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
            begun.add(1, ordering: .relaxed)
            return Task(executorPreference: loop) { [self] in
                try? await body()
                ended.add(1, ordering: .relaxed)
            }
        }
    }

    init(_ endpoint: ChannelEndpoint, on loop: any PortLoop, isInitiator: Bool, queue: Int) throws {
        self.loop = loop
        var configuration = Connection.Configuration()
        configuration.loop = loop
        configuration.programName = "fuzz"
        configuration.errorTypes = [FuzzError.self]
        configuration.limits.queuedCalls = queue
        configuration.limits.runningCalls = queue
        configuration.limits.references = 64
        // Small, so that an announced length alone cannot look like a leak.
        configuration.limits.message = 1 << 20
        configuration.busy.frames = 1
        configuration.busy.nanoseconds = .max
        let connection = try Connection.make(endpoint, configuration, isInitiator: isInitiator)
        connection.vend(FuzzDirectory())
        self.connection = connection
        watched = connection
        connection.begin()
        let counts = counts
        counts.spawn(on: loop) { try await Self.call(connection, counts, loop) }
    }

    @concurrent private static func call(_ connection: Connection, _ counts: Counts, _ loop: any PortLoop) async throws
    {
        try await connection.handshake()
        let root = try await connection.root
        await counts.attempt { let _: Int = try await root.echo(7) }
        await counts.attempt {
            let typed = try Remote<FuzzInterface>(root)
            counts.typed.add(1, ordering: .relaxed)
            let _: String? = try await typed.later(1)
        }
        await counts.attempt {
            let given: DistantObject = try await CallContext.with(metadata: ["trace": "1", "": "é"]) {
                try await root.note.oneWay(8)
                return try await root.give()
            }
            _ = try Remote<FuzzInterface>(given).later.isAvailable
        }
        counts.spawn(on: loop) { try await root.message("wait")(timeout: .seconds(2)) }
        await counts.attempt { try await root.note.oneWay(3) }
        await counts.attempt { try await root.fail("why") }
        await counts.attempt {
            let given: DistantObject = try await root.give()
            let _: Int = try await given.tell(FuzzDirectory(), 5)
            let back: DistantObject? = try await root.keep(FuzzDirectory())
            _ = back == given
            let _: Bool = try await given.own(given)
        }
        await counts.attempt {
            let given = root.give.promise()
            let echoed = root.back.promise(FuzzDirectory())
            try await given.note.oneWay(4)
            let _: Int = try await given.tell(echoed, 5)
            let _: Int = try await echoed.echo(6)
            let _: DistantObject = try await given.resolved()
            _ = root.message("wait").promise()
        }
        let cancelled = counts.spawn(on: loop) { try await root.wait() }
        await counts.attempt {
            let node = FuzzNode("a", [FuzzNode("b"), FuzzNode("c")])
            let _: FuzzNode = try await root.node(node)
            let _: ByCopy<FuzzNode> = try await root.copy(ByCopy(node))
        }
        cancelled.cancel()
        await counts.attempt {
            let _: [UInt8] = try await root.bytes([UInt8](repeating: 7, count: 70_000))
        }
        await counts.attempt {
            let numbers: DistantStream<[Int]> = try await root.numbers(300)
            for try await number in numbers { if number.count == 70_000 { break } }
        }
        await counts.attempt {
            let _: Int = try await root.sum(DistantStream(0..<20))
            let objects: DistantStream<DistantObject>.WithFinal<String> = try await root.objects(3)
            for try await object in objects { let _: Int = try await object.echo(1) }
            let _: String = try await objects.final
            let unread: [DistantStream<[Int]>] = [try await root.numbers(1)]
            try await root.take(unread)
        }
        await counts.attempt { try await connection.barrier() }
        await counts.attempt { try await connection.ping() }
        await counts.attempt { let _: Int = try await root.think(3) }
    }

    func close() {
        guard let connection else { return }
        Task(executorPreference: loop) { await connection.close(timeout: .seconds(1)) }
    }

    func invalidate() { connection?.invalidate() }

    var hasEnded: Bool { connection?.hasEnded ?? true }

    /// Waits for the end if other threads are involved.
    func awaitEnd() {
        waitUntil("the connection ends") { hasEnded }
        waitUntil("the calls end") {
            counts.begun.load(ordering: .relaxed) == counts.ended.load(ordering: .relaxed)
        }
    }

    /// Checks after the end of the stream that nothing waits and nothing is left.
    func check() {
        guard let connection else { return }
        require(connection.life.withLock { $0.end != nil }, "the connection has not ended")
        require(connection.statistics.isAtRest, "something is left: \(connection.statistics)")
        require(
            counts.begun.load(ordering: .relaxed) == counts.ended.load(ordering: .relaxed), "a call has not ended")
        self.connection = nil
    }
}
