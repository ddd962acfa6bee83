import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

@Suite("A pool of helpers", .bounded())
struct HelperPoolTests {
    private let calm = RestartPolicy.onFailure(limit: 10_000, backoff: .zero ... .zero)

    private func pool(_ lines: [PeerLine], restart policy: RestartPolicy? = nil) -> HelperPool<OfficeInterface> {
        HelperPool(
            lines.map { line in
                Helper(OfficeInterface.self, name: "office", restart: policy ?? calm) { try line.next() }
            })
    }

    @Test("Jobs are done by all helpers, and their results come in the order of the jobs")
    func jobsInOrder() async throws {
        let lines = [PeerLine(), PeerLine(), PeerLine()]
        let pool = pool(lines)
        for helper in pool.helpers { _ = try await helper.running() }
        let results = try await pool.map(0..<300) { office, job in try await office.echo(job) * 2 }
        #expect(results == (0..<300).map { $0 * 2 })
        for line in lines { #expect(!line.calls.joined().isEmpty) }
        #expect(try await pool.map([Int]()) { office, job in try await office.echo(job) } == [])
        await pool.stop()
        await expectCode(.closed) { _ = try await pool.remote.echo(1) }
        let empty = HelperPool<OfficeInterface>([])
        await expectCode(.closed) { _ = try await empty.remote.echo(1) }
        await expectCode(.closed) { _ = try await empty.map(0..<3) { office, job in try await office.echo(job) } }
        await empty.stop()
    }

    @Test("The names of helpers that run one program tell them apart")
    func namesInPool() async throws {
        var options = HelperOptions()
        options.arguments = ["crash"]
        options.configuration = .patient
        let pool = HelperPool(CrasherInterface.self, try builtProgram("killed-peer"), count: 2, options: options)
        for helper in pool.helpers { _ = try await helper.running() }
        #expect(pool.helpers.map { $0.connection?.name } == ["killed-peer 1", "killed-peer 2"])
        await pool.stop()
    }

    @Test("A message goes to the helper with the fewest under way")
    func fewestUnderWay() async throws {
        let lines = [PeerLine(), PeerLine()]
        let pool = pool(lines)
        for helper in pool.helpers { _ = try await helper.running() }
        // Both hold a call now, wherever the first one went.
        async let one = pool.remote.hold()
        async let two = pool.remote.hold()
        for line in lines { await line.office.started.wait() }
        #expect(lines.map(\.calls) == [[["hold"]], [["hold"]]])
        lines[0].office.go.send()
        await pool.stop(timeout: .zero)
        _ = try? await (one, two)
    }

    @Test("While helpers die at random, each job that was not answered says so, and no answer is wrong")
    func randomDeathsInPool() async throws {
        let seed = TestSeed.next()
        let generator = Mutex(SeededGenerator(seed: seed))
        let lines = [PeerLine(), PeerLine(), PeerLine()]
        let pool = pool(lines)
        let results = try await pool.map(0..<600) { office, job -> Int? in
            let dying = generator.withLock { Int.random(in: 0..<60, using: &$0) }
            if dying < lines.count { lines[dying].die() }
            do { return try await office.echo(job) } catch let error as ConnectionError
                where error.code == .outcomeUnknown
            { return nil }
        }
        for (job, result) in results.enumerated() where result != nil { #expect(result == job, "seed \(seed)") }
        #expect(results.count == 600, "seed \(seed)")
        #expect(results.contains { $0 != nil }, "seed \(seed)")
        let calls = lines.map { $0.calls.joined().count }.reduce(0, +)
        #expect(calls <= 600, "a job was sent twice, seed \(seed)")
        await pool.stop()
    }

    @Test("As long as one helper can be started, calls are answered; then they say why not")
    func helpersGivenUp() async throws {
        let healthy = PeerLine(.dies(after: 3))
        let failing = Helper(OfficeInterface.self, name: "failing", restart: .never) { throw NoPeer() }
        let good = Helper(OfficeInterface.self, name: "good", restart: .never) { try healthy.next() }
        let pool = HelperPool([failing, good])
        for number in 0..<3 { #expect(try await pool.remote.echo(number) == number) }
        await expectCode(.outcomeUnknown) { _ = try await pool.remote.echo(4) }
        await expectCode(.closed) { _ = try await pool.remote.echo(5) }
        await pool.stop()
    }

    @Test("The first error of a job ends the others, and the number at a time is kept")
    func failingJob() async throws {
        let pool = pool([PeerLine(), PeerLine()])
        let running = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let error = await #expect(throws: NoPeer.self) {
            _ = try await pool.map(0..<1_000, atOnce: 3) { office, job in
                most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                defer { running.subtract(1, ordering: .relaxed) }
                if job == 100 { throw NoPeer() }
                return try await office.echo(job)
            }
        }
        #expect(error != nil)
        #expect(most.load(ordering: .relaxed) <= 3)
        let cancelled = Task {
            try await pool.map(0..<10) { office, _ in try await office.hold() }
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        await pool.stop()
    }
}

private struct NoPeer: Error {}
