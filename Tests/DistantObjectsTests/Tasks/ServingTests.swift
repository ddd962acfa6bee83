import DistantObjects
import TestSupport
import Testing

/// An object whose methods are answered by tasks.
private final class Worker: Vendable {
    let started = Signal()
    let stopped = Signal()
    let gates: [Signal]

    init(rounds: Int = 0) {
        gates = (0..<rounds).map { _ in Signal() }
    }

    static var messages: MessageTable<Worker> {
        Message("isCancelled", Worker.isCancelled)
        Message("hold", Worker.hold)
        Message("join", Worker.join)
        Message("cancelItself", Worker.cancelItself)
        Message("children", Worker.children)
    }

    func cancelItself() async -> Bool {
        withUnsafeCurrentTask { $0?.cancel() }
        return Task.isCancelled
    }

    /// Their jobs go through the executor of the serving task.
    func children(_ count: Int) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    await Task.yield()
                    return number
                }
            }
            return await group.reduce(0, +)
        }
    }

    /// Whether the serving task is cancelled, before and after it has suspended.
    func isCancelled() async -> Bool {
        if Task.isCancelled { return true }
        await Task.yield()
        return Task.isCancelled
    }

    /// Returns when the test says so, or when it is cancelled.
    func hold(_ round: Int) async -> Bool {
        started.send()
        await withTaskCancellationHandler {
            await gates[round].wait()
        } onCancel: {
            gates[round].send()
        }
        stopped.send()
        return Task.isCancelled
    }

    /// Suspends this many times.
    func join(_ first: String, _ second: String, _ times: Int) async throws -> String {
        if times < 0 { throw NotFound(name: first) }
        for _ in 0..<times { await Task.yield() }
        return first + second
    }
}

@Suite("Tasks that serve calls", .bounded())
struct ServingTests {
    // Each takes several turns of a task, for which a task of a busy machine waits long.
    private static let rounds = Sanitizer.isThread ? 40 : 200

    /// Calls a worker at the other end of a pair, and checks that nothing is left.
    private func call(_ worker: Worker, _ body: (DistantObject) async throws -> Void) async throws {
        let pair = try await Pair()
        pair.server.vend(worker, as: "worker")
        try await body(pair.client.root(named: "worker"))
        try await pair.rest()
        await pair.close()
    }

    @Test("A call after a cancelled one is not cancelled")
    func afterCancelled() async throws {
        let worker = Worker(rounds: Self.rounds)
        try await call(worker) { (remote) async throws in
            for round in 0..<Self.rounds {
                // The task of the first call serves the second, which is cancelled. The third needs another task.
                #expect(try await remote.isCancelled() == false)
                let held = Task { try await remote.hold(round) as Bool }
                await worker.started.wait(for: round + 1)
                held.cancel()
                await #expect(throws: CancellationError.self) { try await held.value }
                await worker.stopped.wait(for: round + 1)
                #expect(try await remote.isCancelled() == false)
            }
        }
    }

    @Test("A method that cancels its own task does not affect later calls")
    func afterCancellingItself() async throws {
        try await call(Worker()) { (remote) async throws in
            for _ in 0..<20 {
                #expect(try await remote.cancelItself() == true)
                #expect(try await remote.isCancelled() == false)
            }
        }
    }

    @Test("Child tasks end with their method, and later calls are not affected")
    func childrenInServing() async throws {
        try await call(Worker()) { (remote) async throws in
            for round in 0..<50 {
                #expect(try await remote.children(round) == round * (round - 1) / 2)
                #expect(try await remote.isCancelled() == false)
            }
        }
    }

    @Test("A cancellation that crosses the answer does not affect later calls")
    func crossingInServing() async throws {
        let worker = Worker(rounds: Self.rounds)
        try await call(worker) { (remote) async throws in
            for round in 0..<Self.rounds {
                let held = Task { try await remote.hold(round) as Bool }
                await worker.started.wait(for: round + 1)
                async let cancelled: Void = { held.cancel() }()
                worker.gates[round].send()
                #expect(try await remote.isCancelled() == false)
                await cancelled
                _ = await held.result
                #expect(try await remote.isCancelled() == false)
            }
        }
    }

    @Test("A call that is refused or throws does not affect the next one")
    func afterFailure() async throws {
        try await call(Worker()) { (remote) async throws in
            for times in 0..<3 {
                await expectCode(.wrongArgument) { let _: String = try await remote.join("a", 2, times) }
                #expect(try await remote.join("a", "b", times) == "ab")
                await #expect(throws: RemoteError.self) { let _: String = try await remote.join("a", "b", -1) }
                #expect(try await remote.join("c", "d", times) == "cd")
            }
        }
    }

    @Test("Concurrent calls get their own answers")
    func interleavedInServing() async throws {
        try await call(Worker()) { (remote) async throws in
            for round in 0..<5 {
                let answers = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            (number, try await remote.join("\(round)/", "\(number)", (number * 7 + round) % 5))
                        }
                    }
                    return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                #expect(answers == Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, "\(round)/\($0)") }))
            }
        }
    }

    @Test("A connection that has ended is freed, with its resting task")
    func freedInServing() async throws {
        weak var connection: Connection?
        do {
            let pair = try await Pair()
            connection = pair.server
            pair.server.vend(Worker())
            let remote = try await pair.client.root
            for _ in 0..<20 { #expect(try await remote.isCancelled() == false) }
            await pair.close()
        }
        await eventually("it is freed") { connection == nil }
    }
}
