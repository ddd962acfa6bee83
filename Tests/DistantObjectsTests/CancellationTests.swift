import DistantObjects
import Testing

@Suite("Cancellation and deadlines")
struct CancellationTests {
    @Test("A cancelled caller throws at once, and the serving task is cancelled")
    func cancel() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await pair.directory.stopped.wait()
        await pair.close()
    }

    @Test("A caller cancelled before it sends sends nothing")
    func cancelledBefore() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let frames = pair.client.statistics.framesOut
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let _: Int = try await directory.echo(1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pair.client.statistics.framesOut == frames)
        #expect(pair.client.statistics.questions == 0)
        await pair.close()
    }

    @Test("After the deadline the caller throws and the serving task is cancelled")
    func deadline() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        await expectCode(.deadlineExceeded) {
            let _: Int = try await directory.message("wait").call(deadline: .milliseconds(20))
        }
        await pair.directory.stopped.wait()
        let quick: Int = try await directory.message("echo").call(3, deadline: .seconds(60))
        #expect(quick == 3)
        await pair.close()
    }

    @Test("Calls that wait for credit can be cancelled, and the others go on")
    func cancelPending() async throws {
        var server = Connection.Configuration()
        server.limits.queuedCalls = 1
        server.limits.runningCalls = 1
        let pair = try await Pair(server: server)
        do {
            let directory = try await pair.client.root
            let tasks = (0..<20).map { number in
                Task { let _: Int = try await directory.echo(number) }
            }
            for task in tasks[10...] { task.cancel() }
            for task in tasks[..<10] { try await task.value }
            for task in tasks[10...] { _ = await task.result }
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("Above the number of running calls the peer refuses instead of delaying")
    func overload() async throws {
        var server = Connection.Configuration()
        server.limits.runningCalls = 2
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        let tasks = (0..<2).map { _ in Task { let _: Int = try await directory.wait() } }
        await pair.directory.started.wait(for: 2)
        await expectCode(.overloaded) { let _: Int = try await directory.echo(1) }
        for task in tasks { task.cancel() }
        await pair.directory.stopped.wait(for: 2)
        await pair.close()
    }
}
