import DistantObjects
import ExampleConsole
import Synchronization
import WorkerPoolValues

/// Searches blocks of numbers with worker processes.
final class Pool: Sendable {
    private let workers: HelperPool<WorkerInterface>
    /// Whether a worker is to be killed in the middle of its block, to show that the pool survives that.
    private let isKillDue: Mutex<Bool>

    init(_ workers: HelperPool<WorkerInterface>, killsOne: Bool) {
        self.workers = workers
        isKillDue = Mutex(killsOne)
    }

    /// Says of each worker when it starts and dies, until it is stopped.
    func sayWhatHappens() async {
        await withDiscardingTaskGroup { group in
            for (index, worker) in workers.helpers.enumerated() {
                let events = worker.events
                group.addTask {
                    for await event in events { Self.say(event, of: "worker \(index + 1)") }
                }
            }
        }
    }

    private static func say(_ event: HelperEvent, of worker: String) {
        switch event {
        case .started(let pid?): Console.say("\(worker) runs as process \(pid)")
        case .ended(let end) where !end.isOrderly:
            Console.say("\(worker) has died (\(end.reason)); a new one takes its place")
        default: break
        }
    }

    /// Searches all blocks, one at a time in each worker.
    ///
    /// - Returns: The primes, in order.
    func search(_ blocks: [Block]) async throws -> [Int] {
        let progress = Progress(of: blocks.count)
        let finished = Atomic<Int>(0)
        let primes = try await workers.map(blocks, atOnce: workers.helpers.count) { _, block in
            let primes = try await self.search(block)
            progress.show(finished.add(1, ordering: .relaxed).newValue)
            return primes
        }
        progress.end()
        return primes.flatMap(\.self)
    }

    /// Searches a block.
    ///
    /// If its worker dies, another one searches all of it: nothing of it was counted.
    ///
    /// - Parameter limit: After so many primes the worker's search is stopped.
    func search(_ block: Block, upTo limit: Int = .max) async throws -> [Int] {
        while true {
            do { return try await searchOnce(block, upTo: limit) } catch let error as ConnectionError
                where error.code == .outcomeUnknown
            { continue }
        }
    }

    private func searchOnce(_ block: Block, upTo limit: Int) async throws -> [Int] {
        let stream = try await workers.remote.primes(block)
        var primes: [Int] = []
        for try await prime in stream {
            primes.append(prime)
            killIfDue()
            // Leaving the loop stops the worker's search.
            if primes.count == limit { return primes }
        }
        let tally = try await stream.final
        guard tally.found == primes.count else {
            throw PoolError("a worker found \(tally.found), \(primes.count) came")
        }
        return primes
    }

    private func killIfDue() {
        let isDue = isKillDue.withLock { isDue in
            defer { isDue = false }
            return isDue
        }
        // Others may not be connected yet.
        if isDue { workers.helpers.lazy.compactMap { $0.connection?.child }.first?.kill() }
    }

    /// Stops the workers, and checks that nothing is left.
    func stop() async throws {
        let connections = workers.helpers.compactMap(\.connection)
        await workers.stop()
        for connection in connections where !connection.statistics.isAtRest {
            throw PoolError("something is left: \(connection.statistics)")
        }
    }
}
