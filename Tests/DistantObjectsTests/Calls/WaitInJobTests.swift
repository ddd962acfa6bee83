import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

/// In `run` a call waits inside its job on the loop's thread, as long as nothing else arrives.
///
/// The two ends have separate loops here, as two processes have.
@Suite("Calls that wait inside a job", .bounded())
struct WaitInJobTests {
    private let loops: (client: EventLoop, server: EventLoop)

    init() throws { loops = (try EventLoop(), try EventLoop()) }

    private func pair(queuedCalls: Int? = nil) async throws -> Pair {
        var (client, server) = (Connection.Configuration.patient, Connection.Configuration.patient)
        if let queuedCalls {
            client.limits.queuedCalls = queuedCalls
            server.limits.queuedCalls = queuedCalls
        }
        client.loop = loops.client
        server.loop = loops.server
        return try await Pair(client: client, server: server)
    }

    private func close(_ pair: Pair) async throws {
        try await pair.rest()
        await pair.close()
        loops.client.stop()
        loops.server.stop()
    }

    @Test("Results, errors, references and callbacks work as in other tasks")
    func callsInWaitInJob() async throws {
        let pair = try await pair()
        let observer = Observer()
        let sum = try await pair.client.run {
            let directory = try await pair.client.root
            var sum = 0
            for number in 0..<200 { sum += try await directory.echo(number) as Int }
            let count: Int = try await directory.add(Foo(name: "James", age: 40))
            await #expect(throws: RemoteError.self) { let _: Int = try await directory.age("nobody") }
            try await directory.watch(observer)
            for _ in 0..<50 { let _: Int = try await directory.tell("hello") }
            try await directory.forget()
            return sum + count
        }
        #expect(sum == 19_901)
        #expect(observer.notes.withLock { $0.count } == 50)
        try await close(pair)
    }

    /// Calls from an actor that others call, too.
    private actor Caller {
        func wait(for directory: DistantObject) async throws -> Int { try await directory.hold() }

        func go(_ directory: Directory) { directory.go.send() }
    }

    @Test("An actor is free for others while its method waits for a call")
    func actor() async throws {
        let pair = try await pair()
        let (directory, caller) = (pair.directory, Caller())
        // The answer comes only after the actor has done other work.
        let other = Task {
            await directory.started.wait()
            await caller.go(directory)
        }
        let answer = try await pair.client.run { try await caller.wait(for: pair.client.root) }
        #expect(answer == 7)
        await other.value
        try await close(pair)
    }

    @Test("Other tasks, timers and connections of the loop make progress meanwhile")
    func othersInWaitInJob() async throws {
        let pair = try await pair()
        let directory = pair.directory
        let answer = try await pair.client.run {
            let root = try await pair.client.root
            async let held: Int = root.hold()
            await directory.started.wait()
            await #expect(throws: ConnectionError.self) {
                let _: Int = try await root.message("wait")(timeout: .milliseconds(1))
            }
            let _: Int = try await root.echo(1)
            directory.go.send()
            return try await held
        }
        #expect(answer == 7)
        let another = Directory()
        let beside = try await self.pair()
        pair.server.vend(another, as: "another")
        let first = Task { try await pair.client.run { try await pair.client.root(named: "another").hold() as Int } }
        await another.started.wait()
        // The loop's only thread is in the poller, inside the first task's job.
        let second = try await pair.client.run { try await pair.client.root.echo(5) as Int }
        #expect(second == 5)
        #expect(try await beside.client.root.echo(6) == 6)
        another.go.send()
        #expect(try await first.value == 7)
        await beside.close()
        try await close(pair)
    }

    @Test("A thread that reads for its own blocking call delivers the answer")
    func readByBlockingReader() async throws {
        let pair = try await pair()
        let client = pair.client
        let held = Task { try await client.run { try await client.root.hold() as Int } }
        await pair.directory.started.wait()
        let sum = try await onThread {
            let root = try client.blockingRoot()
            var sum = 0
            for number in 0..<100 {
                if number == 50 { pair.directory.go.send() }
                sum += try root.echo.blocking(number) as Int
            }
            return sum
        }
        #expect(sum == 4_950)
        #expect(try await held.value == 7)
        try await close(pair)
    }

    @Test("Cancelling the task or the method, and the end of the connection, stop the wait")
    func stoppedInWaitInJob() async throws {
        let pair = try await pair()
        let client = pair.client
        let cancelled = Task { try await client.run { try await client.root.wait() as Int } }
        await pair.directory.started.wait()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await pair.directory.stopped.wait()

        // A method that waits inside its job for a callback is cancelled itself.
        let (relay, waiting) = (Relay(), Waiting())
        pair.server.vend(relay, as: "relay")
        do {
            let proxy = try await client.root(named: "relay")
            let relayed = Task { let _: Int = try await proxy.pass(waiting) }
            await waiting.started.wait()
            relayed.cancel()
            await #expect(throws: CancellationError.self) { try await relayed.value }
            await waiting.stopped.wait()
            await relay.stopped.wait()
        }

        let lost = Task { try await client.run { try await client.root.wait() as Int } }
        await pair.directory.started.wait(for: 2)
        pair.server.invalidate()
        await #expect(throws: ConnectionError.self) { try await lost.value }
        _ = await (client.ended, pair.server.ended)
        #expect(client.statistics.isAtRest)
        #expect(pair.server.statistics.isAtRest)
    }

    @Test("Frames that arrive together with the answer are processed, too")
    func togetherInWaitInJob() async throws {
        let pair = try await RawPeerConnection(.socketpair)
        let (raw, root) = (pair.raw, try await pair.root())
        pair.connection.vend(Directory())
        let (answered, go) = (Signal(), Signal())
        let task = Task {
            try await pair.connection.run {
                let answer: Int = try await root.echo(1)
                answered.send()
                await go.wait()
                return answer
            }
        }
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(RawPeer.frame(3, RawPeer.result()) + RawPeer.frame(FrameKind.ping.rawValue, [7]))
        await answered.wait()
        #expect(try await onThread { raw.read()?.body } == [7])
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        #expect(try await onThread { raw.read()?.kind } == 3)
        go.send()
        #expect(try await task.value == 5)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    /// Waits in its first message for an effect of the second.
    private final class Waiter: Vendable {
        static var messages: MessageTable<Waiter> {
            Message("first", Waiter.first)
            Message("second", Waiter.second)
        }

        func first(_ other: DistantObject) async throws -> Int { try await other.hold() }

        func second(_ other: DistantObject) async throws { try await other.letGo() }
    }

    private final class Holder: Vendable {
        let directory = Directory()

        static var messages: MessageTable<Holder> {
            Message("hold", Holder.hold)
            Message("letGo", Holder.letGo)
        }

        func hold() async -> Int {
            await directory.go.wait()
            return 1
        }

        func letGo() { directory.go.send() }
    }

    @Test("While a method waits for its first call, the next message to its object starts")
    func mailboxInWaitInJob() async throws {
        let pair = try await pair()
        pair.server.vend(Waiter(), as: "waiter")
        do {
            let waiter = try await pair.client.root(named: "waiter")
            for _ in 0..<20 {
                let holder = Holder()
                let answer = try await pair.client.run {
                    async let first: Int = waiter.first(holder)
                    try await waiter.second(holder)
                    return try await first
                }
                #expect(answer == 1)
            }
        }
        try await close(pair)
    }

    /// Calls back to any depth, fails, or is slow.
    private final class Node: Vendable {
        let noted = Atomic<Int>(0)

        static var messages: MessageTable<Node> {
            Message("echo", Node.echo)
            Message("bounce", Node.bounce)
            Message("slow", Node.slow)
            Message("fail", Node.fail)
            Message("note", Node.note)
            Message("sleep", Node.sleep)
        }

        func echo(_ number: Int) -> Int { number }

        func bounce(_ other: DistantObject, _ depth: Int) async throws -> Int {
            depth == 0 ? 0 : try await 1 + other.bounce(ByReference(self), depth - 1)
        }

        func slow(_ number: Int) async -> Int {
            for _ in 0..<number % 7 { await Task.yield() }
            return number
        }

        func fail() throws { throw NotFound(name: "nothing") }

        func note(_ number: Int) { noted.wrappingAdd(1, ordering: .relaxed) }

        func sleep() async throws -> Int {
            while true {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    @Test(
        "Random calls, callbacks, errors and cancellations from tasks and threads on both sides end correctly",
        arguments: [1, 3, 1_024])
    func randomInWaitInJob(queuedCalls: Int) async throws {
        let seed = TestSeed.next()
        let pair = try await pair(queuedCalls: queuedCalls)
        let nodes = (Node(), Node())
        pair.server.vend(nodes.0, as: "node")
        pair.client.vend(nodes.1, as: "node")
        let noted = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                let (connection, own) = worker % 2 == 0 ? (pair.client, nodes.1) : (pair.server, nodes.0)
                group.addTask {
                    try await connection.run {
                        try await work(SeededGenerator(seed: seed &+ UInt64(worker)), connection, own, "seed \(seed)")
                    }
                }
            }
            for connection in [pair.client, pair.server] {
                group.addTask {
                    try await onThread {
                        let node = try connection.blockingRoot(named: "node")
                        for number in 0..<200 { #expect(try node.echo.blocking(number) == number, "seed \(seed)") }
                        return 0
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(
            nodes.0.noted.load(ordering: .relaxed) + nodes.1.noted.load(ordering: .relaxed) == noted, "seed \(seed)")
        try await close(pair)
    }

    /// Returns the number of one-way messages sent.
    private func work(
        _ random: SeededGenerator, _ connection: Connection, _ own: Node, _ seed: Comment
    ) async throws -> Int {
        var random = random
        var sent = 0
        let node = try await connection.root(named: "node")
        for number in 0..<300 {
            switch random.below(12) {
            case 0..<4: #expect(try await node.echo(number) == number, seed)
            case 4, 5:
                let depth = random.below(6)
                #expect(try await node.bounce(own, depth) == depth, seed)
            case 6: #expect(try await node.slow(number) == number, seed)
            case 7: await #expect(throws: RemoteError.self, seed) { try await node.fail() }
            case 8, 9:
                try await node.note.oneWay(number)
                sent += 1
                if number % 8 == 0 { try await connection.barrier() }
            case 10:
                let task = Task { try await connection.run { try await node.sleep() as Int } }
                for _ in 0..<random.below(20) { await Task.yield() }
                task.cancel()
                await #expect(throws: (any Error).self, seed) { try await task.value }
            default:
                async let first: Int = node.slow(number)
                async let second: Int = node.echo(number)
                #expect(try await first + second == 2 * number, seed)
            }
        }
        // After the last note.
        #expect(try await node.echo(0) == 0, seed)
        return sent
    }
}
