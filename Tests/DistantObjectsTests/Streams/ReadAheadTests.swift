import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

private struct WorkListInterface: Interface {
    let jobs = Signature<DistantStream<[UInt8]>>("jobs")
}

/// A list of work that several readers share.
private final class WorkList: Vendable, Implements {
    typealias I = WorkListInterface

    static var messages: MessageTable<WorkList> { Message(\I.jobs, WorkList.jobs) }

    /// The jobs that no reader was sent, the next one last.
    let left: Mutex<[[UInt8]]>
    let readAhead: Int?

    init(_ jobs: [[UInt8]], readAhead: Int? = nil) {
        left = Mutex(jobs.reversed())
        self.readAhead = readAhead
    }

    /// A list of different jobs.
    convenience init(count: Int, readAhead: Int? = nil) {
        let jobs = (0..<count).map { number in
            [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 7, count: 20 + number % 7)
        }
        self.init(jobs, readAhead: readAhead)
    }

    func jobs() -> DistantStream<[UInt8]> {
        DistantStream(readAhead: readAhead) { [self] writer in
            while let job = left.withLock({ $0.popLast() }) { try await writer.send(job) }
        }
    }
}

/// Who reads what is set by: the side that makes the stream, or the one that reads it.
enum ReadAheadPlace: CaseIterable {
    case made, read
}

@Suite("How far streams are read ahead", .bounded())
struct ReadAheadTests {
    /// The jobs that each of three workers gets, who all need a millisecond for a job by the loop's clock.
    private func share(_ list: WorkList, readingAhead count: Int? = nil) throws -> [[[UInt8]]] {
        let loop = TestLoop(seed: TestSeed.next())
        let done = Mutex([[[UInt8]]](repeating: [], count: 3))
        let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        let pairs = try (0..<3).map { _ in try ConnectionPair(on: loop) }
        for (worker, pair) in pairs.enumerated() {
            try pair.second.vend(list)
            let remote = try loop.run { try await pair.first.root(as: WorkListInterface.self) }
            loop.task {
                var jobs = try await remote.jobs()
                if let count { jobs = jobs.readingAhead(count) }
                for try await job in jobs {
                    done.withLock { $0[worker].append(job) }
                    await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
                }
            }
        }
        loop.runUntilIdle()
        while true {
            let workers = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            if workers.isEmpty { break }
            loop.advance(by: .milliseconds(1))
            for worker in workers { worker.resume() }
            loop.runUntilIdle()
        }
        for pair in pairs { pair.cut() }
        loop.runUntilIdle()
        return done.withLock { $0 }
    }

    @Test("Three equal workers share a list of 300 jobs within a fifth of each other")
    func equalWorkers() throws {
        let list = WorkList(count: 300)
        let all = list.left.withLock { $0 }
        let shares = try share(list)
        let counts = shares.map(\.count)
        let most = try #require(counts.max())
        #expect(counts.allSatisfy { $0 * 5 >= most * 4 }, "\(counts)")
        #expect(Set(shares.flatMap { $0 }) == Set(all) && counts.reduce(0, +) == 300)
    }

    @Test("With one job read ahead the shares of workers differ by two at most", arguments: ReadAheadPlace.allCases)
    func one(_ place: ReadAheadPlace) throws {
        let list = WorkList(count: 300, readAhead: place == .made ? 1 : nil)
        let counts = try share(list, readingAhead: place == .read ? 1 : nil).map(\.count)
        let (least, most) = (try #require(counts.min()), try #require(counts.max()))
        #expect(counts.reduce(0, +) == 300 && most - least <= 2, "\(counts)")
    }

    @Test(
        "A reader that works on an element has no more than the given number besides it",
        arguments: [0, 1, 3, 20], ReadAheadPlace.allCases)
    func exact(_ readAhead: Int, _ place: ReadAheadPlace) async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient)
        let list = WorkList(count: 200, readAhead: place == .made ? readAhead : nil)
        try pair.second.vend(list)
        var stream = try await pair.first.root(as: WorkListInterface.self).jobs()
        if place == .read { stream = stream.readingAhead(readAhead) }
        var read: [[UInt8]] = []
        let all: [[UInt8]] = list.left.withLock { $0.reversed() }
        for try await job in stream {
            read.append(job)
            let sent = min(200, read.count + readAhead)
            // More of them travel together, and count as used up together.
            if readAhead <= 1 {
                await eventually("\(sent) are sent") { list.left.withLock { $0.count } == 200 - sent }
            }
            try await pair.first.ping()
            #expect(list.left.withLock { $0.count } >= 200 - sent)
        }
        #expect(read == all)
        await pair.first.close()
    }

    @Test("Large elements arrive whole, whatever is read ahead", arguments: [0, 1, 5], ReadAheadPlace.allCases)
    func large(_ readAhead: Int, _ place: ReadAheadPlace) async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient)
        let jobs = [10, 300_000, 20, 70_000, 1 << 20, 65_536, 30, 600_000].enumerated().map { index, size in
            (0..<size).map { UInt8(truncatingIfNeeded: $0 &* (index + 3)) }
        }
        try pair.second.vend(WorkList(jobs, readAhead: place == .made ? readAhead : nil))
        var stream = try await pair.first.root(as: WorkListInterface.self).jobs()
        if place == .read { stream = stream.readingAhead(readAhead) }
        var read: [[UInt8]] = []
        for try await job in stream { read.append(job) }
        #expect(read == jobs)
        await pair.first.close()
    }
}
