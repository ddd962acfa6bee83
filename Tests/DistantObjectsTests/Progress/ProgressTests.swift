import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// Works in steps, and reports them.
private final class Worker: Vendable {
    let go = Signal()
    let stopped = Signal()
    let gate = DispatchSemaphore(value: 0)

    static var messages: MessageTable<Worker> {
        Message("work", Worker.work)
        Message("compute", Worker.compute)
        Message("stepwise", Worker.stepwise)
        Message("delegate", Worker.delegate)
    }

    func work(_ steps: Int64, _ progress: ProgressReporter) async -> Int64 {
        for step in 1...steps { progress.report(step, of: steps) }
        return steps
    }

    /// Blocks between reports.
    func compute(_ progress: ProgressReporter) -> Int {
        progress.report(1)
        gate.wait()
        progress.report(2)
        gate.wait()
        return 2
    }

    /// Runs until it is cancelled.
    func stepwise(_ progress: ProgressReporter) async throws {
        defer { stopped.send() }
        var step: Int64 = 0
        while true {
            try Task.checkCancellation()
            step += 1
            progress.report(step)
            await Task.yield()
        }
    }

    func delegate(_ other: DistantObject, _ progress: ProgressReporter) async throws -> Int64 {
        try await other.work(Int64(3), progress)
    }
}

@Suite("Progress of calls", .bounded())
struct ProgressTests {
    private final class Log: Sendable {
        let seen = Mutex<[CallProgress]>([])
        let heard = Signal()

        var receiver: ProgressReceiver {
            ProgressReceiver { progress in
                self.seen.withLock { $0.append(progress) }
                self.heard.send()
            }
        }

        var completed: [Int64] { seen.withLock { $0.map(\.completed) } }
    }

    private func pair() async throws -> (Pair, Worker, DistantObject) {
        let pair = try await Pair()
        let worker = Worker()
        pair.server.vend(worker, as: "worker")
        return (pair, worker, try await pair.client.root(named: "worker"))
    }

    @Test("Reports arrive in order and leave no reference behind")
    func orderInProgress() async throws {
        let log = Log()
        let (pair, _, _) = try await pair()
        do {
            let worker = try await pair.client.root(named: "worker")
            let answer: Int64 = try await worker.work(Int64(10), log.receiver)
            #expect(answer == 10)
        }
        await log.heard.wait(for: 10)
        #expect(log.completed == Array(1...10))
        #expect(log.seen.withLock { $0.map(\.total) } == Array(repeating: 10, count: 10))
        #expect(log.seen.withLock { $0.last?.fraction } == 1)
        try await pair.rest()
        await pair.close()
    }

    @Test("Reports of a method that blocks arrive while it runs")
    func blockingInProgress() async throws {
        let log = Log()
        let (pair, worker, proxy) = try await pair()
        async let answer: Int = proxy.compute(log.receiver)
        await log.heard.wait(for: 1)
        worker.gate.signal()
        await log.heard.wait(for: 2)
        worker.gate.signal()
        #expect(try await answer == 2)
        #expect(log.completed == [1, 2])
        #expect(log.seen.withLock { $0.allSatisfy { $0.total == nil && $0.fraction == nil } })
        await pair.close()
    }

    @Test("Reports are dropped when the queue is full, and the call goes on")
    func fullInProgress() async throws {
        let (heard, gate) = (Signal(), DispatchSemaphore(value: 0))
        let count = Atomic<Int>(0)
        // While the first report is handled there is room for one more.
        let receiver = ProgressReceiver { _ in
            count.wrappingAdd(1, ordering: .relaxed)
            heard.send()
            gate.wait()
        }
        var client = Connection.Configuration.patient
        client.limits.runningCalls = 2
        let pair = try await Pair(client: client)
        pair.server.vend(Worker(), as: "worker")
        do {
            let worker = try await pair.client.root(named: "worker")
            let answer: Int64 = try await worker.work(Int64(1_000), receiver)
            #expect(answer == 1_000)
        }
        await heard.wait()
        for _ in 0..<2 { gate.signal() }
        try await pair.rest()
        #expect(1...2 ~= count.load(ordering: .relaxed))
        await pair.close()
    }

    @Test("A cancelled call stops its work, and the receiver is released")
    func cancelledInProgress() async throws {
        let (pair, worker, _) = try await pair()
        weak var receiver: ProgressReceiver?
        do {
            let proxy = try await pair.client.root(named: "worker")
            let log = Log()
            let task: Task<Void, any Error>
            do {
                let strong = log.receiver
                receiver = strong
                task = Task { try await proxy.stepwise(strong) }
            }
            await log.heard.wait(for: 3)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await worker.stopped.wait()
        }
        try await pair.rest()
        // The task that has made the call is over, and may still let go of what it had.
        await eventually("the receiver is released") { receiver == nil }
        await pair.close()
    }

    @Test("A reporter can be passed on, over its connection and within its process")
    func passedOn() async throws {
        let log = Log()
        let (pair, _, proxy) = try await pair()
        // The worker of this process is called through a proxy for it.
        let answer: Int64 = try await proxy.delegate(Worker(), log.receiver)
        #expect(answer == 3)
        await log.heard.wait(for: 3)
        #expect(log.completed == [1, 2, 3])
        #expect(await Worker().work(2, ProgressReporter(to: log.receiver)) == 2)
        #expect(log.completed == [1, 2, 3, 1, 2])
        await pair.close()
    }

    @Test("Any numbers that a peer reports are accepted")
    func nonsenseInProgress() {
        #expect(CallProgress(completed: -1, total: 10).fraction == 0)
        #expect(CallProgress(completed: 11, total: 10).fraction == 1)
        #expect(CallProgress(completed: 1, total: 0).fraction == nil)
        #expect(CallProgress(completed: .max, total: .min).fraction == nil)
    }
}
