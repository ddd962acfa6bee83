import DistantObjects
import TestSupport
import Testing

/// Waits until it is cancelled, and notes that.
final class Waiting: Vendable {
    let started = Signal()
    let stopped = Signal()

    static var messages: MessageTable<Waiting> {
        Message("wait", Waiting.wait)
    }

    func wait() async throws -> Int {
        started.send()
        defer { stopped.send() }
        while !Task.isCancelled { await Task.yield() }
        throw CancellationError()
    }
}

/// Forwards a call, from the serving task or from other tasks.
final class Relay: Vendable {
    let stopped = Signal()

    static var messages: MessageTable<Relay> {
        Message("pass", Relay.pass)
        Message("passInChild", Relay.passInChild)
        Message("passCancelled", Relay.passCancelled)
    }

    func pass(_ other: DistantObject) async throws -> Int {
        defer { stopped.send() }
        return try await other.wait()
    }

    /// Only the child task is cancelled; the serving task continues.
    func passInChild(_ other: DistantObject) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await other.wait() }
            group.addTask { 1 }
            let first = try await group.next() ?? 0
            group.cancelAll()
            do { _ = try await group.next() } catch is CancellationError { return first + 1 }
            return 0
        }
    }

    func passCancelled(_ other: DistantObject) async throws -> Int {
        withUnsafeCurrentTask { $0?.cancel() }
        do { return try await other.wait() } catch is CancellationError { return 7 }
    }
}

/// Calls in a scope have no cancellation handler of their own, but are still cancelled with their task.
@Suite("Cancellation of calls in run and in methods", .bounded())
struct CallScopeTests {
    @Test("When the caller of a method gives up, the calls that the method waits for are cancelled")
    func relayed() async throws {
        let pair = try await Pair()
        let (relay, waiting) = (Relay(), Waiting())
        pair.server.vend(relay, as: "relay")
        do {
            let root = try await pair.client.root(named: "relay")
            let task = Task { let _: Int = try await root.pass(waiting) }
            await waiting.started.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await waiting.stopped.wait()
            await relay.stopped.wait()
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("Cancelling a child task cancels its call, and the parent continues")
    func child() async throws {
        let pair = try await Pair()
        let (relay, waiting) = (Relay(), Waiting())
        pair.server.vend(relay, as: "relay")
        do {
            let root = try await pair.client.root(named: "relay")
            let result: Int = try await root.passInChild(waiting)
            #expect(result == 2)
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("A method that cancels itself sends no more messages")
    func selfCancelled() async throws {
        let pair = try await Pair()
        pair.server.vend(Relay(), as: "relay")
        let waiting = Waiting()
        do {
            let root = try await pair.client.root(named: "relay")
            let result: Int = try await root.passCancelled(waiting)
            #expect(result == 7)
            #expect(waiting.started.count == 0)
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("In run, cancelling the task cancels its call, even a child's or one over another connection")
    func runInCallScope() async throws {
        let (first, second) = (try await Pair(), try await Pair())
        do {
            let (here, there) = (try await first.client.root, try await second.client.root)
            let own = Task { try await first.client.run { let _: Int = try await here.wait() } }
            await first.directory.started.wait()
            own.cancel()
            await #expect(throws: CancellationError.self) { try await own.value }
            await first.directory.stopped.wait()

            let other = Task { try await first.client.run { let _: Int = try await there.wait() } }
            await second.directory.started.wait()
            other.cancel()
            await #expect(throws: CancellationError.self) { try await other.value }
            await second.directory.stopped.wait()

            let sum = try await first.client.run {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    group.addTask { try await here.wait() }
                    group.addTask { try await here.echo(4) }
                    let sum = try await group.next() ?? 0
                    await first.directory.started.wait(for: 2)
                    group.cancelAll()
                    do { _ = try await group.next() } catch is CancellationError { return sum }
                    return 0
                }
            }
            #expect(sum == 4)
            await first.directory.stopped.wait(for: 2)
            let after: Int = try await first.client.run { try await here.echo(5) }
            #expect(after == 5)
        }
        try await first.rest()
        try await second.rest()
        await first.close()
        await second.close()
    }
}
