import CFloor
import DistantObjects
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a worker computes from the bytes of a job.
struct JobAnswer: Codable, Sendable, Equatable {
    var hash: UInt64
    var zeros: UInt64

    init(_ bytes: Data) {
        let answer = bytes.withUnsafeBytes { bytes in
            floorAnswer(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        (hash, zeros) = (answer.hash, answer.zeros)
    }
}

/// The numbers of the jobs, which workers take.
private final class JobList: Sendable {
    private let count: Int
    private let taken = Atomic<Int>(0)

    init(count: Int) { self.count = count }

    func next() -> Int? {
        let number = taken.add(1, ordering: .relaxed).oldValue
        return number < count ? number : nil
    }
}

/// Jobs for three workers: each takes the next one when it has room, so that a quick worker gets more.
final class Jobs: Sendable {
    private static let length = 60_000
    private static let kinds = 64

    private let contents: [Data]
    private let expected: [JobAnswer]

    init() {
        var state: UInt64 = 1
        contents = (0..<Self.kinds).map { _ in
            Data(
                (0..<Self.length).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(truncatingIfNeeded: state >> 56)
                })
        }
        expected = contents.map { JobAnswer($0) }
    }

    /// Jobs a second with forked processes and pipes.
    func floor(count: Int) throws -> Double {
        let copies = contents.map { content in
            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: content.count)
            content.copyBytes(to: copy, count: content.count)
            return UnsafePointer(copy)
        }
        defer { for copy in copies { copy.deallocate() } }
        let answers = expected.map { FloorAnswer(hash: $0.hash, zeros: $0.zeros) }
        var nanoseconds: UInt64 = 0
        let error = floorJobs(copies.map { $0 }, answers, Self.kinds, Self.length, count, &nanoseconds)
        if error != 0 { throw BenchError("a worker of the floor failed: \(describe(error))") }
        return Double(count) / Double(max(nanoseconds, 1)) * 1e9
    }

    /// Jobs a second with streams of jobs and of answers; four jobs are under way at each worker.
    func sample(_ workers: [Peer], count: Int) async throws -> Double {
        let list = JobList(count: count)
        let start = floorNow()
        try await withThrowingTaskGroup { group in
            for worker in workers {
                group.addTask { try await self.work(worker, list) }
            }
            var answered = 0
            for try await count in group { answered += count }
            guard answered == count else { throw BenchError("\(answered) of \(count) jobs were answered") }
        }
        return Double(count) / Double(max(floorNow() - start, 1)) * 1e9
    }

    /// Has one worker do jobs.
    ///
    /// - Returns: How many were answered, each as expected.
    private func work(_ worker: Peer, _ list: JobList) async throws -> Int {
        let contents = contents
        let sent = Mutex<[Int]>([])
        let jobs = DistantStream<Data>(readAhead: 3) { writer in
            while let number = list.next() {
                sent.withLock { $0.append(number) }
                try await writer.send(contents[number % Self.kinds])
            }
        }
        let answers: DistantStream<JobAnswer> = try await worker.bench.answers(jobs)
        var count = 0
        for try await answer in answers {
            let number = sent.withLock { $0[count] }
            guard answer == expected[number % Self.kinds] else {
                throw BenchError("the answer to job \(number) is wrong")
            }
            count += 1
        }
        return count
    }
}
