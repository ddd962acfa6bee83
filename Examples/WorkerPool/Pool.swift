import DistantObjects
import ExampleConsole
import Synchronization
import WorkerPoolValues

/// Worker processes, each of which searches one block at a time.
final class Pool: Sendable {
    private struct State {
        var waiting: [Block]
        var found: [Int] = []
        var finished = 0
        var isKillDue: Bool
    }

    private let state: Mutex<State>
    private let total: Int
    private let progress: Progress
    private let launch: @Sendable (Int) async throws -> WorkerProcess

    /// - Parameters:
    ///   - killsOne: Whether the pool kills a worker in the middle of its block, to show that it survives that.
    ///   - launch: Launches the worker with a number. A test gives one that needs no process.
    init(
        _ blocks: [Block], killsOne: Bool,
        launch: @escaping @Sendable (Int) async throws -> WorkerProcess = WorkerProcess.launch
    ) {
        total = blocks.count
        self.launch = launch
        state = Mutex(State(waiting: blocks.reversed(), isKillDue: killsOne))
        progress = Progress(of: blocks.count)
    }

    /// Searches all blocks.
    ///
    /// - Returns: The primes, in order.
    func search(workers: Int) async throws -> [Int] {
        try await withThrowingDiscardingTaskGroup { lanes in
            for number in 1...workers { lanes.addTask { try await self.runLane(number) } }
        }
        progress.end()
        return state.withLock { $0.found.sorted() }
    }

    /// Gives one worker a block after the other, and replaces the worker when it has died.
    private func runLane(_ number: Int) async throws {
        var worker = try await launch(number)
        while let block = state.withLock({ $0.waiting.popLast() }) {
            do {
                let primes = try await search(block, with: worker)
                let finished = state.withLock { state in
                    state.found += primes
                    state.finished += 1
                    return state.finished
                }
                progress.show(finished)
            } catch let error as ConnectionError where worker.connection.isEnded {
                // Nothing of the block was counted, so another worker searches all of it.
                state.withLock { $0.waiting.append(block) }
                WorkerProcess.sayItDied(number, error)
                worker = try await launch(number)
            }
        }
        try await worker.close()
    }

    private func search(_ block: Block, with worker: WorkerProcess) async throws -> [Int] {
        let stream = try await worker.remote.primes(block)
        var primes: [Int] = []
        for try await prime in stream {
            primes.append(prime)
            if takeKill() { worker.connection.child?.kill() }
        }
        let tally = try await stream.final
        guard tally.found == primes.count else {
            throw PoolError("a worker found \(tally.found), \(primes.count) came")
        }
        return primes
    }

    /// Whether a worker is to be killed now; true once.
    private func takeKill() -> Bool {
        state.withLock { state in
            defer { state.isKillDue = false }
            return state.isKillDue
        }
    }
}
