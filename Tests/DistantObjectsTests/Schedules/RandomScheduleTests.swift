import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Several peers do random work on one thread with a simulated clock, so that the seed determines everything.
///
/// A failing test prints its seed; `DISTANT_SEED=n swift test --filter RandomSchedule` repeats it.
@Suite("Random schedules", .serialized, .bounded())
struct RandomScheduleTests {
    static let seeds: [UInt64] = {
        if let one = TestSeed.given { return [one] }
        let count = ProcessInfo.processInfo.environment["DISTANT_SEEDS"].flatMap { UInt64($0) } ?? 60
        // Each run uses other seeds. A failure prints its seed.
        let start = TestSeed.next()
        return (0..<count).map { start + $0 }
    }()

    @Test("Order, outcomes, identity and empty tables are as the oracle predicts", arguments: seeds)
    func scheduleInRandomSchedule(seed: UInt64) {
        let world = ScheduleWorld(seed: seed)
        world.run()
        for complaint in world.complaints.value { Issue.record("seed \(seed): \(complaint)") }
        #expect(world.finished.value == world.begun.value, "seed \(seed): a call never ended")
        for link in world.links {
            #expect(link.statistics.isAtRest, "seed \(seed): \(link.name) \(link.statistics)")
        }
        #expect(world.begun.value > 0)
    }
}
