import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

@Suite("A pair of ends in one process", .bounded())
struct ConnectionPairTests {
    /// What a run does that draws pieces and delays from a seed.
    private func trace(_ seed: UInt64) throws -> [String] {
        let loop = TestLoop(seed: seed)
        let pair = try ConnectionPair(on: loop, seed: seed, capacity: 100)
        let office = Office()
        try pair.second.vend(office)
        let trace = Mutex<[String]>([])
        let remote = try loop.run { try await pair.first.root(as: OfficeInterface.self) }
        for number in 0..<20 {
            loop.task {
                let bytes = try await remote.bytes([UInt8](repeating: 1, count: number * 37))
                trace.withLock { $0.append("\(number): \(bytes.count)") }
            }
        }
        var steps = 0
        while loop.runOne() { steps += 1 }
        trace.withLock { $0.append("\(steps) steps") }
        pair.cut()
        loop.runUntilIdle()
        #expect(pair.first.isEnded && pair.second.isEnded)
        return trace.withLock { $0 }
    }

    @Test("On a loop run by hand, one seed gives the same run each time, and another a different one")
    func seeds() throws {
        let seed = TestSeed.next()
        let first = try trace(seed)
        #expect(first.count == 21)
        #expect(try trace(seed) == first)
        #expect(try (1...10).contains { try trace(seed &+ $0) != first })
    }

    @Test("Both ends call each other, and one that refuses the other throws")
    func callsInConnectionPair() async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient, seed: TestSeed.next(), capacity: 300)
        try pair.first.vend(Office())
        try pair.second.vend(Office())
        for end in [pair.first, pair.second] {
            let remote = try await end.root(as: OfficeInterface.self)
            #expect(try await remote.sum(DistantStream(0..<500)) == 124_750)
        }
        await pair.first.close()
        var picky = Connection.Configuration.patient
        picky.accept = .init { _ in "not today" }
        await expectCode(.peerRefused) { [picky] in _ = try await ConnectionPair(first: .patient, second: picky) }
    }

    @Test("A cut fails the calls under way on both ends, without a goodbye")
    func cutInConnectionPair() async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient)
        let office = Office()
        try pair.second.vend(office)
        let remote = try await pair.first.root(as: OfficeInterface.self)
        let call = Task { try await remote.hold() }
        await office.started.wait()
        pair.cut()
        await expectCode(.outcomeUnknown) { _ = try await call.value }
        await office.stopped.wait()
        _ = await (pair.first.ended, pair.second.ended)
    }

    @Test("Time passes on a loop run by hand only when the test says so")
    func clock() throws {
        let loop = TestLoop()
        let pair = try ConnectionPair(on: loop)
        let office = Office()
        try pair.second.vend(office)
        let remote = try loop.run { try await pair.first.root(as: OfficeInterface.self) }
        let late = Mutex(false)
        loop.task {
            do { _ = try await remote.hold(timeout: .seconds(3_600)) } catch { late.withLock { $0 = true } }
        }
        loop.advance(by: .seconds(3_599))
        #expect(!late.withLock { $0 } && office.started.count == 1)
        loop.advance(by: .seconds(1))
        #expect(late.withLock { $0 })
        #expect(loop.now == .seconds(3_600))
        #expect(!loop.runOne())
    }
}
