import DistantObjects
import Synchronization
import Testing

@Suite("Closing and ending")
struct EndingTests {
    @Test("An orderly close answers what was read and refuses what comes after")
    func orderly() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { () -> Int in
            try await directory.message("wait").call(deadline: .milliseconds(100))
        }
        await pair.directory.started.wait()
        await pair.server.close(within: .seconds(60))
        // The call that ran when the close began was answered: by its own deadline.
        await expectCode(.deadlineExceeded) { _ = try await task.value }
        await expectCode(.closed) { let _: Int = try await directory.echo(1) }
        guard case .closedByPeer = await pair.client.ended else {
            Issue.record("the client did not see an orderly close")
            return
        }
        guard case .closedHere = await pair.server.ended else {
            Issue.record("the server did not close")
            return
        }
    }

    @Test("A connection cut in the middle of a call ends it once, with an unknown outcome")
    func cut() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        pair.server.invalidate()
        await expectCode(.outcomeUnknown) { try await task.value }
        guard case .lost = await pair.client.ended else {
            Issue.record("the client did not see the connection as lost")
            return
        }
        // The serving task was cancelled and the objects were let go.
        await pair.directory.stopped.wait()
        #expect(pair.client.statistics.isAtRest)
    }

    @Test("A call on a connection that has ended says that it was not sent")
    func afterEnd() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        pair.client.invalidate()
        _ = await pair.client.ended
        await expectCode(.closed) { let _: Int = try await directory.echo(1) }
        await expectCode(.closed) { try await directory.note.oneWay(1) }
        await expectCode(.closed) { try await pair.client.ping() }
        _ = await pair.server.ended
    }

    @Test("Everything that was exported is let go at the end")
    func exportsFreed() async throws {
        let pair = try await Pair()
        weak var observer: Observer?
        do {
            let strong = Observer()
            observer = strong
            try await pair.client.root.watch(strong)
        }
        #expect(observer != nil)
        pair.directory.observer.withLock { $0 = nil }
        pair.server.invalidate()
        _ = await pair.client.ended
        #expect(observer == nil)
    }

    @Test("Pings are answered while a method is busy")
    func ping() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        try await pair.client.ping()
        task.cancel()
        _ = await task.result
        await pair.close()
    }

    @Test("The end is reported once, as the last event")
    func events() async throws {
        let ended = Signal()
        var client = Connection.Configuration()
        client.onEvent = { event in
            if case .ended = event { ended.send() }
        }
        let pair = try await Pair(client: client)
        await pair.close()
        pair.client.invalidate()
        #expect(ended.count == 1)
    }
}
