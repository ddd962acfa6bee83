// swift-format-ignore-file
// It is laid out as Streams.md shows it.

import DistantObjects
import Synchronization

/// The code of Streams.md.
enum StreamsCode {
    struct Summary: Codable, Sendable {
        var searched = 0
    }

    // Streams.md: interface
    struct LogInterface: Interface {
        let lines = Signature<DistantStream<String>, Int>("lines")
        let append = Signature<Int, DistantStream<String>>("append")
        let search = Signature<DistantStream<String>.WithFinal<Summary>, String>("search")
    }
    // end

    // Streams.md: log
    final class Log: Vendable, Implements {
        typealias I = LogInterface

        static var messages: MessageTable<Log> {
            Message(\I.lines, Log.lines)
            Message(\I.append, Log.append)
            Message(\I.search, Log.search)
        }

        func lines(from first: Int) -> some AsyncSequence<String, Never> & Sendable { follow(from: first) }

        func append(_ lines: DistantStream<String>) async throws -> Int {
            for try await line in lines { add(line) }
            return count
        }

        func search(_ word: String) -> DistantStream<String>.WithFinal<Summary> {
            DistantStream<String>.WithFinal { [self] writer in
                var summary = Summary()
                for line in all {
                    summary.searched += 1
                    if line.contains(word) { try await writer.send(line) }
                }
                return summary
            }
        }
        // end

        private let content = Mutex(["one", "two", "three"])
        private var all: [String] { content.withLock { $0 } }
        private var count: Int { all.count }

        private func add(_ line: String) { content.withLock { $0.append(line) } }

        private func follow(from first: Int) -> AsyncStream<String> {
            let lines = all.dropFirst(first)
            return AsyncStream { continuation in
                for line in lines { continuation.yield(line) }
                continuation.finish()
            }
        }
    // Streams.md: log
    }
    // end

    static func use(_ connection: Connection, _ show: (String) -> Void) async throws -> [Int] {
        // Streams.md: use
        let log = try await connection.root(as: LogInterface.self)
        for try await line in try await log.lines(0).prefix(3) { show(line) }
        let count = try await log.append(DistantStream(["four", "five"]))
        let found = try await log.search("o")
        for try await line in found { show(line) }
        let searched = try await found.final.searched
        // end
        return [count, searched]
    }

    struct Job: Codable, Sendable {}

    struct WorkInterface: Interface {
        let jobs = Signature<DistantStream<Job>>("jobs")
    }

    // Streams.md: work
    final class Work: Vendable, Implements {
        typealias I = WorkInterface
        private let left = Mutex<[Job]>([])

        static var messages: MessageTable<Work> {
            Message(\I.jobs, Work.jobs)
        }

        /// The jobs that no other worker was given.
        func jobs() -> DistantStream<Job> {
            DistantStream(readAhead: 1) { [self] writer in
                while let job = left.withLock({ $0.popLast() }) { try await writer.send(job) }
            }
        }
    }
    // end

    static func share(_ work: Remote<WorkInterface>, _ finish: (Job) async throws -> Void) async throws {
        // Streams.md: share
        for try await job in try await work.jobs().readingAhead(1) { try await finish(job) }
        // end
    }

    static func wait(_ log: Remote<LogInterface>, _ show: (String) -> Void) async throws {
        // Streams.md: wait
        for try await line in try await log.lines(0).timeout(.seconds(5)) { show(line) }
        // end
    }

    static func block(
        _ log: Remote<LogInterface>, patience: Duration, _ nextLine: @escaping @Sendable () -> String?,
        _ show: (String) -> Void
    ) throws -> [Int] {
        // Streams.md: read
        let found: DistantStream<String>.WithFinal<Summary> = try log.search.blocking("o")
        var iterator = found.makeBlockingIterator()
        while let line = try iterator.next(timeout: patience) { show(line) }
        let searched = try found.blockingFinal().searched
        // end
        // Streams.md: send
        let count = try log.append.blocking(
            DistantStream.onThread { writer in
                while let line = nextLine() { try writer.blockingSend(line) }
            })
        // end
        return [searched, count]
    }
}
