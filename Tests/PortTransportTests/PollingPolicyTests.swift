import TestSupport
import Testing

@testable import PortTransport

@Suite("The policy of polling")
struct PollingPolicyTests {
    /// A place driven by hand: a clock, a thread, and what the system says of its run delay.
    struct Place {
        var policy = PollingPolicy()
        var now: UInt64 = 1_000_000_000
        var runDelay: UInt64? = 0
        var thread: UInt = 1

        /// The next wait begins after so many nanoseconds; whether it polls.
        mutating func polls(after gap: UInt64 = 10_000) -> Bool {
            now += gap
            let time = now
            return policy.polls(at: time)
        }

        mutating func end(_ isAnswered: Bool, time: UInt64 = 2_000, isQuick: Bool = false) {
            now += time
            if policy.polled(isAnswered: isAnswered, time: time, isQuick: isQuick) {
                policy.read(runDelay: runDelay, thread: thread, at: now)
            }
        }

        /// Waits that follow each other at once, until one polls.
        mutating func waitsUntilPoll() -> Int {
            var count = 1
            while !polls() { count += 1 }
            return count
        }

        /// Earns all the credit there is.
        mutating func earn() {
            while policy.credit < PollingPolicy.mostCredit {
                _ = waitsUntilPoll()
                end(true)
            }
        }
    }

    private func expect(_ polls: Bool, _ expected: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(polls == expected, sourceLocation: sourceLocation)
    }

    @Test("A poll that found nothing to deliver costs as much as one that was not answered")
    func foundNothing() {
        var place = Place()
        place.earn()
        var polls = 0
        while place.policy.credit > 0 {
            expect(place.polls(), true)
            place.end(true, isQuick: true)
            place.policy.foundNothing()
            polls += 1
        }
        #expect(polls == Int(PollingPolicy.mostCredit / PollingPolicy.cost) && !place.policy.isHot)
        let waits = place.waitsUntilPoll()
        #expect(waits == Int(PollingPolicy.waitsForProbe))
    }

    @Test("Without credit one wait in 64 polls, and in twice as many after each that fails, up to 1,024")
    func probes() {
        var place = Place()
        _ = place.polls(after: PollingPolicy.longestRound * 2)
        for expected in [64, 128, 256, 512, 1_024, 1_024] {
            let waits = place.waitsUntilPoll()
            #expect(waits == expected)
            place.end(false, time: PollingPolicy.bound)
        }
        #expect(place.policy.credit == 0)
        _ = place.waitsUntilPoll()
        place.end(true)
        expect(place.polls(), true)
        place.end(false)
        let waits = place.waitsUntilPoll()
        #expect(waits == 64)
    }

    @Test("A poll that is answered earns, one that is not costs eight times that, and credit has a bound")
    func creditInPollingPolicy() {
        var place = Place()
        place.earn()
        expect(place.polls(), true)
        place.end(true)
        #expect(place.policy.credit == PollingPolicy.mostCredit)
        for left in stride(from: 8, through: 0, by: -8) {
            expect(place.polls(), true)
            place.end(false, time: PollingPolicy.bound)
            #expect(place.policy.credit == UInt8(left))
        }
        expect(place.polls(), false)
    }

    @Test("A thread that prepares for a poll learns that there will be none, and its wait counts")
    func promising() {
        var place = Place()
        _ = place.polls(after: PollingPolicy.longestRound * 2)
        for _ in 0..<63 { expect(place.policy.isPromising(), false) }
        expect(place.policy.isPromising(), true)
        _ = place.polls(after: PollingPolicy.longestRound * 2)
        expect(place.policy.isPromising(), true)
        expect(place.polls(), true)
        place.end(true)
        expect(place.policy.isPromising(), true)
    }

    @Test("A wait long after another does not poll, and costs no credit")
    func calm() {
        var place = Place()
        place.earn()
        for _ in 0..<200 { expect(place.polls(after: 10_000_000), false) }
        #expect(place.policy.credit == PollingPolicy.mostCredit)
        expect(place.polls(), true)
        place.end(true)
    }

    @Test("A place that only waits now and then never polls")
    func seldom() {
        var place = Place()
        for _ in 0..<1000 { expect(place.polls(after: PollingPolicy.longestRound + 1), false) }
    }

    @Test("After a poll that was answered at once the next one needs no clock")
    func hot() {
        var place = Place()
        _ = place.waitsUntilPoll()
        place.end(true, time: 100, isQuick: true)
        #expect(place.policy.isHot)
        func clock() -> UInt64 {
            Issue.record("the clock was looked at")
            return 0
        }
        expect(place.policy.polls(at: clock()), true)
        place.end(false, time: PollingPolicy.bound)
        #expect(!place.policy.isHot)
        _ = place.waitsUntilPoll()
        place.end(true, time: 100, isQuick: true)
        place.policy.isPrevented()
        #expect(!place.policy.isHot)
    }

    @Test("A thread that is kept from running stops polling for 10 ms, then for twice that, up to a second")
    func runDelay() {
        var place = Place()
        var expected = PollingPolicy.shortestPause
        for _ in 0..<12 {
            place.earn()
            let before = place.policy.pause
            #expect(before == expected)
            while place.policy.credit > 0 {
                expect(place.polls(after: 1_000), true)
                place.runDelay? += 2_000
                place.end(true, time: 20_000)
            }
            let stopped = place.now
            while place.now + 10_000 < stopped + before { expect(place.polls(), false) }
            // The first probe is that of the 64th wait from then on.
            let waits = place.waitsUntilPoll()
            #expect(waits >= 64)
            place.end(false, time: PollingPolicy.bound)
            expected = min(expected * 2, PollingPolicy.longestPause)
        }
        #expect(place.policy.pause == PollingPolicy.longestPause)
    }

    @Test("A little run delay, that of another thread, and none that the system tells of stop nothing")
    func tolerated() {
        for (step, isOtherThread, isKnown) in [(900, false, true), (5_000, true, true), (5_000, false, false)] {
            var place = Place()
            if !isKnown { place.runDelay = nil }
            place.earn()
            for index in 0..<10_000 {
                expect(place.polls(after: 1_000), true)
                place.runDelay? += UInt64(step)
                if isOtherThread { place.thread = UInt(index) }
                place.end(true, time: 20_000)
            }
            #expect(place.policy.credit == PollingPolicy.mostCredit)
        }
    }

    @Test("Delays of wake-ups between few polls stop nothing")
    func sparse() {
        var place = Place()
        for _ in 0..<100 {
            _ = place.waitsUntilPoll()
            place.runDelay? += 300_000
            place.end(false, time: PollingPolicy.bound)
        }
        #expect(place.policy.pause == PollingPolicy.shortestPause)
    }

    @Test("In random schedules polls that fail are few", arguments: 0..<50)
    func randomInPollingPolicy(round: Int) {
        let seed = TestSeed.next()
        var generator = SeededGenerator(seed: seed)
        var place = Place()
        var (waits, answered, failed) = (0, 0, 0)
        for _ in 0..<20_000 {
            waits += 1
            let gap = generator.below(20) == 0 ? 1_000_000 : 1_000 + generator.below(100_000)
            place.runDelay? += UInt64(generator.below(200))
            guard place.polls(after: UInt64(gap)) else { continue }
            if generator.below(100) < round * 2 {
                answered += 1
                place.end(true, time: UInt64(generator.below(50_000)), isQuick: generator.below(2) == 0)
            } else {
                failed += 1
                place.end(false, time: PollingPolicy.bound)
            }
        }
        // Each costs eight answers or is a probe, but for those that empty an account.
        #expect(failed <= answered / 4 + answered + waits / 64 + 8, "seed \(seed)")
        #expect(Int(place.policy.credit) <= Int(PollingPolicy.mostCredit), "seed \(seed)")
        if round == 0 { #expect(failed <= waits / 64, "seed \(seed)") }
    }

    @Test("A process with one processor, or a quota below two, does not poll")
    func processors() {
        #expect(!Processors.suffice(count: 1, quota: 0))
        #expect(!Processors.suffice(count: 8, quota: 199))
        #expect(!Processors.suffice(count: 8, quota: 50))
        #expect(Processors.suffice(count: 2, quota: 0))
        #expect(Processors.suffice(count: 8, quota: 200))
        // Where the system says nothing, credit alone decides.
        #expect(Processors.suffice(count: 0, quota: 0))
    }
}
