import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Blocking calls from threads without a task", .bounded())
struct BlockingTests {
    @Test("A thread calls and gets results, errors and references")
    func callsInBlocking() async throws {
        let pair = try await Pair()
        let client = pair.client
        let outcome = try await onThread {
            let directory = try client.blockingRoot()
            var sum = 0
            for number in 0..<200 { sum += try directory.echo.blocking(number) as Int }
            let count: Int = try directory.add.blocking(Foo(name: "James", age: 40))
            try directory.clear.blocking()
            do {
                let _: Int = try directory.age.blocking("nobody")
            } catch is RemoteError {
                return sum + count
            }
            return -1
        }
        #expect(outcome == 19_901)
        try await pair.rest()
        await pair.close()
    }

    @Test("Callbacks run while a thread waits for its call")
    func callbackInBlocking() async throws {
        let pair = try await Pair()
        let client = pair.client
        let observer = Observer()
        let count = try await onThread {
            let directory = try client.blockingRoot()
            try directory.watch.blocking(observer)
            var last = 0
            for _ in 0..<50 { last = try directory.tell.blocking("hello") }
            try directory.forget.blocking()
            return last
        }
        #expect(count == 50)
        #expect(observer.notes.withLock { $0.count } == 50)
        try await pair.rest()
        await pair.close()
    }

    @Test("Several threads call over one connection at the same time")
    func threadsInBlocking() async throws {
        let pair = try await Pair()
        let client = pair.client
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    try await onThread {
                        let directory = try client.blockingRoot()
                        var sum = 0
                        for number in 0..<100 { sum += try directory.echo.blocking(number + thread) as Int }
                        return sum
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 8 * 4_950 + 100 * 28)
        try await pair.rest()
        await pair.close()
    }

    @Test("One-way messages from a thread arrive in order, even when the queue is full")
    func oneWayInBlocking() async throws {
        var server = Connection.Configuration.patient
        server.limits.queuedCalls = 8
        let pair = try await Pair(server: server)
        let client = pair.client
        _ = try await onThread {
            let directory = try client.blockingRoot()
            for number in 0..<1_000 { try directory.note.blockingOneWay(number) }
            return try directory.echo.blocking(0) as Int
        }
        #expect(pair.directory.log.withLock { $0 } == Array(0..<1_000))
        try await pair.rest()
        await pair.close()
    }

    @Test(
        "A method that blocks delays only its own object, even if the messages arrived together",
        arguments: ["block", "blockInTask"])
    func holdsUpItsObject(method: String) async throws {
        let pair = try await RawPeerConnection(.socketpair, server: true)
        let directory = Directory()
        pair.connection.vend(["": directory, "o": Observer()])
        let raw = pair.raw
        for name in [[], [0x6F]] as [[UInt8]] {
            raw.send(2, RawPeer.call(body: [0, UInt8(name.count + 1), 0x80 + UInt8(name.count)] + name))
            #expect(try await onThread { raw.read()?.kind } == 3)
        }
        // In one write, so that they are read together.
        let blocks = RawPeer.call(slot: 1, name: [0] + RawPeer.text(method), arguments: 0, body: [0, 0])
        let counts = (1...5).map { question in
            RawPeer.call(question: question, slot: 2, name: [1] + RawPeer.text("count"), arguments: 0, body: [0, 0])
        }
        raw.send(RawPeer.frame(2, blocks) + counts.flatMap { RawPeer.frame(2, $0) })
        for question: UInt8 in 1...5 {
            #expect(try await onThread { raw.read()?.body.first } == question)
        }
        directory.gate.signal()
        #expect(try await onThread { raw.read()?.body.first } == 0)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Calls that wait for credit are sent when a thread that waits for its own call reads the credit")
    func creditReadByBlockingReader() async throws {
        let pair = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(queuedCalls: 1))
        let (raw, root) = (pair.raw, try await pair.root())
        raw.send(7, RawPeer.number(1))
        let own = Task { try await onThread { try root.echo.blocking(1) as Int } }
        #expect(try await onThread { raw.read()?.kind } == 2)
        let waiting = Task { try await root.echo(2) as Int }
        await eventually("it waits") { pair.connection.statistics.pending == 1 }
        raw.send(7, RawPeer.number(1))
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(RawPeer.frame(3, RawPeer.result(question: 0)) + RawPeer.frame(3, RawPeer.result(question: 1)))
        #expect(try await own.value == 5)
        #expect(try await waiting.value == 5)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("A ping that arrives together with a call is answered while the method blocks")
    func pingBesideBlocked() async throws {
        let pair = try await RawPeerConnection(.socketpair, server: true)
        let directory = Directory()
        pair.connection.vend(directory)
        let raw = pair.raw
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        #expect(try await onThread { raw.read()?.kind } == 3)
        let block = RawPeer.call(slot: 1, name: [0] + RawPeer.text("block"), arguments: 0, body: [0, 0])
        raw.send(RawPeer.frame(2, block) + RawPeer.frame(FrameKind.ping.rawValue, [7]))
        let answer = try await onThread { raw.read() }
        #expect(answer?.kind == FrameKind.pong.rawValue)
        #expect(answer?.body == [7])
        directory.gate.signal()
        #expect(try await onThread { raw.read()?.kind } == 3)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("In a task and on the loop's thread a blocking call throws")
    func refusedInBlocking() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        await expectCode(.wouldBlock) { let _: Int = try directory.echo.blocking(1) }
        try await pair.client.run {
            await expectCode(.wouldBlock) { let _: Int = try directory.echo.blocking(1) }
        }
        await pair.close()
    }

    @Test("A deadline and the death of the peer end a blocking call")
    func endsInBlocking() async throws {
        let pair = try await Pair()
        let client = pair.client
        let codes = try await onThread { () -> [ConnectionError.Code] in
            let directory = try client.blockingRoot()
            var codes: [ConnectionError.Code] = []
            do {
                let _: Int = try directory.message("wait").blocking(timeout: .milliseconds(20))
            } catch let error as ConnectionError {
                codes.append(error.code)
            }
            return codes
        }
        #expect(codes == [.deadlineExceeded])
        let server = pair.server
        let started = pair.directory.started
        // The first may have been refused before it started, because its deadline had passed. Or it starts later than that.
        try await client.ping()
        await eventually("the first is over") { server.statistics.answers == 0 }
        let before = started.count
        let second = Task {
            try await onThread { () -> ConnectionError.Code? in
                do {
                    let _: Int = try client.blockingRoot().message("wait").blocking()
                    return nil
                } catch let error as ConnectionError {
                    return error.code
                }
            }
        }
        await started.wait(for: before + 1)
        server.invalidate()
        #expect(try await second.value == .outcomeUnknown)
        _ = await client.ended
    }

    #if canImport(Glibc)
        @Test("A thread that has no descriptor left for a poller reads without one")
        func noDescriptorsInBlocking() async {
            await #expect(processExitsWith: .success) {
                let overSocket = try await Pair()
                let overPipes = try await Pair(over: .pipes)
                Usage.exhaustDescriptors()
                for pair in [overSocket, overPipes] {
                    let root = try await pair.client.root
                    let counts = try await onThread {
                        try (0..<100).map { try root.add.blocking(Foo(name: "\($0)", age: 1)) as Int }
                    }
                    // Each ran once, and its caller got the answer.
                    #expect(counts == Array(1...100))
                    let waiting = Task { try await onThread { try root.message("wait").blocking() as Int } }
                    await pair.directory.started.wait()
                    pair.server.invalidate()
                    await expectCode(.outcomeUnknown) { _ = try await waiting.value }
                }
            }
        }
    #endif
}
