// swift-format-ignore-file
// It is laid out as Helpers.md shows it.

import DistantObjects
import WordCountValues

/// The code of Helpers.md.
enum HelpersCode {
    static func first(_ program: String, _ file: String) async throws -> Int {
        // Helpers.md: call
        let counter = Helper(CounterInterface.self, program, restart: .onFailure)
        let words = try await counter.remote.count(file).words
        await counter.stop()
        // end
        return words
    }

    static func watch(_ counter: Helper<CounterInterface>, _ print: (String) -> Void) async {
        // Helpers.md: events
        for await event in counter.events {
            switch event {
            case .ended(let end) where !end.isOrderly: print("the counter has died: \(end.reason)")
            case .gaveUp(let reason): print("the counter is of no use: \(reason)")
            default: break
            }
        }
        // end
    }

    static func restart(_ counter: Helper<CounterInterface>, _ file: String) async throws -> Int {
        // Helpers.md: restart
        await counter.restart()
        let words = try await counter.remote.count(file).words      // by the new build
        // end
        return words
    }

    static func options() -> HelperOptions {
        // Helpers.md: options
        var options = HelperOptions()
        options.arguments = ["--verbose"]
        options.standardError = .kept                   // the last 64 KiB come with the event of its end
        options.unresponsiveAfter = .seconds(10)        // then it is killed, and started again
        options.configuration.callTimeout = .seconds(60)
        // end
        return options
    }

    static func pool(_ program: String, _ files: [String]) async throws -> Int {
        // Helpers.md: pool
        let pool = HelperPool(CounterInterface.self, program, count: 4)
        let counts = try await pool.map(files) { counter, file in try await counter.count(file).words }
        await pool.stop()
        // end
        return counts.reduce(0, +)
    }

    static func again(_ pool: HelperPool<CounterInterface>, _ files: [String]) async throws -> [Int] {
        // Helpers.md: again
        let counts = try await pool.map(files) { counter, file in
            for _ in 1..<3 {
                do { return try await counter.count(file).words } catch let error as ConnectionError
                    where error.code == .outcomeUnknown
                { continue }
            }
            return try await counter.count(file).words
        }
        // end
        return counts
    }

    // Helpers.md: idempotent
    struct ParserInterface: Interface {
        let parse = Signature<[String], String>("parse", idempotent: true)
        let save = Signature<Void, String>("save")
    }
    // end

    static func session(_ counter: Helper<CounterInterface>) async throws -> Int {
        // Helpers.md: running
        let current = try await counter.running(timeout: .seconds(5))
        async let one = current.count("one.txt")
        async let two = current.count("two.txt")            // both by the same process, or not at all
        // end
        return try await one.words + two.words
    }
}
