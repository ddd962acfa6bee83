import DistantObjects
import ExampleConsole
import WorkerPoolValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Searches for primes in several processes.
@main
struct WorkerPool {
    static let usage = """
        Usage: WorkerPool [WORKERS]

        Launches worker processes (3, or as many as given) and has them find the primes below 200,000 in blocks. Each
        sends what it finds as a stream. One is killed in the middle of a block: the pool launches another. At the end
        a search that has no end is cancelled.
        """

    static func main() async {
        Console.reserveDescriptors()
        signal(SIGPIPE, SIG_IGN)
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            try UsageError.check(arguments)
            if UsageError.asksForHelp(arguments) { return Console.say(usage) }
            guard arguments.count <= 1, let workers = Int(arguments.first ?? "3"), (1...64).contains(workers) else {
                throw UsageError("the number of workers is between 1 and 64")
            }
            try await run(workers: workers)
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("WorkerPool", error)
            exit(2)
        } catch {
            Console.complain("WorkerPool", "\(error)")
            exit(1)
        }
    }

    private static func run(workers: Int) async throws {
        let pool = Pool(HelperPool(WorkerInterface.self, "workerpool-worker", count: workers), killsOne: true)
        async let news: Void = pool.sayWhatHappens()

        let blocks = stride(from: 0, to: 200_000, by: 5_000).map { Block(first: $0, last: $0 + 4_999) }
        let primes = try await pool.search(blocks)
        Console.say("\(primes.count) primes, from \(primes.first ?? 0) to \(primes.last ?? 0)")

        // A search that has no end is stopped after three primes.
        let large = try await pool.search(Block(first: 1_000_000_000, last: nil), upTo: 3)
        Console.say("the first three above a billion: \(large.map(String.init).joined(separator: ", "))")

        try await pool.stop()
        await news
        Console.say("all workers have ended, every table is empty")
    }
}
