import Dispatch
import DistantObjects
import TestSupport
import Testing

/// Blocks in its first job, then runs a closure.
private final class Busy: Vendable {
    let began = Signal()
    let gate = DispatchSemaphore(value: 0)
    let go = Signal()

    static var messages: MessageTable<Busy> {
        Message("work", Busy.work)
        Message("workThenWait", Busy.workThenWait)
        Message("workThenCall", Busy.workThenCall)
    }

    private func block() {
        began.send()
        gate.wait()
    }

    func work() async { block() }

    func workThenWait() async {
        block()
        await go.wait()
    }

    func workThenCall(_ other: DistantObject) async throws -> Int {
        block()
        return try await other.hold()
    }
}

/// Frames that are written while nothing else flushes the channel.
@Suite("Frames are flushed, no matter which thread writes them", .bounded())
struct FlushTests {
    /// Sends a barrier, lets the method go on once the other side has it, and returns when it is answered.
    private func barrier(_ pair: Pair, _ busy: Busy) async throws {
        let before = pair.server.statistics.framesIn
        let barrier = Task { try await pair.client.barrier() }
        await eventually("the barrier is there") { pair.server.statistics.framesIn > before }
        busy.gate.signal()
        try await barrier.value
    }

    @Test("A barrier after a method that blocks its first job is answered when that job ends")
    func firstJob() async throws {
        let pair = try await Pair()
        let busy = Busy()
        pair.server.vend(busy, as: "busy")
        let proxy = try await pair.client.root(named: "busy")
        try await proxy.work.oneWay()
        await busy.began.wait()
        try await barrier(pair, busy)

        let call = Task { try await proxy.workThenWait() }
        await busy.began.wait(for: 2)
        try await barrier(pair, busy)
        busy.go.send()
        try await call.value
        await pair.close()
    }

    @Test("A barrier is answered even if the method then calls back without credit")
    func firstJobWithoutCredit() async throws {
        var client = Connection.Configuration.patient
        client.limits.queuedCalls = 1
        let pair = try await Pair(client: client)
        let (busy, blocker, other) = (Busy(), Directory(), Directory())
        pair.server.vend(busy, as: "busy")
        pair.client.vend(blocker)
        let proxy = try await pair.client.root(named: "busy")
        // The first one runs, the second takes the only place in the queue.
        let held = try await pair.server.root
        let first = Task { try await held.block() }
        await blocker.started.wait()
        let second = Task { try await held.block() }
        await eventually("it waits over there") {
            pair.server.statistics.pending == 0 && pair.server.committedCalls == 2
        }
        let call = Task { try await proxy.workThenCall(other) as Int }
        await busy.began.wait()
        try await barrier(pair, busy)
        #expect(pair.server.statistics.pending == 0)
        blocker.gate.signal()
        blocker.gate.signal()
        other.go.send()
        #expect(try await call.value == 7)
        _ = try await (first.value, second.value)
        await pair.close()
    }

    @Test("Credit for a call that a waiting thread read is returned although its method blocks")
    func creditBeforeBlocking() async throws {
        var server = Connection.Configuration.patient
        server.limits.queuedCalls = 1
        let pair = try await Pair(server: server)
        let (held, other) = (Directory(), Directory())
        pair.client.vend(held)
        pair.server.vend(other, as: "other")
        let root = try await pair.client.root
        let beside = try await pair.client.root(named: "other")
        let thread = Task { try await onThread { try pair.server.blockingRoot().hold.blocking() as Int } }
        await held.started.wait()
        let blocked = Task { try await root.block() }
        await pair.directory.started.wait()
        #expect(try await beside.echo(5) == 5)
        pair.directory.gate.signal()
        try await blocked.value
        held.go.send()
        #expect(try await thread.value == 7)
        await pair.close()
    }
}
