import Testing

@testable import DistantObjects

@Suite("The phases in which a peer reads its answers or does not")
struct AnswerFlowTests {
    private struct Meter: AnswerMeter {
        var unsentAnswers = 0
        var writtenAnswers: UInt64 = 0
    }

    private let limit = 1_000

    /// A flow that holds calls.
    private func held(_ meter: Meter) -> AnswerFlow {
        var flow = AnswerFlow(limit: limit)
        flow.add(meter.unsentAnswers)
        let isHolding = flow.isHolding(meter)
        #expect(isHolding && flow.phase == .held(quietTicks: 0))
        return flow
    }

    /// A flow that refuses calls.
    private func refusing(_ meter: Meter) -> AnswerFlow {
        var flow = held(meter)
        for tick in 1...AnswerFlow.ticks {
            _ = flow.tick(meter)
            #expect(flow.phase == .held(quietTicks: UInt8(tick)))
        }
        _ = flow.tick(meter)
        #expect(flow.phase == .refusing)
        return flow
    }

    @Test("Calls are held above the limit, start again at half of it, and drain until nothing is unsent")
    func phasesOfAnswerFlow() {
        var meter = Meter(unsentAnswers: limit + 1)
        var flow = held(meter)
        #expect(!flow.mayStartCalls && !flow.isOpen)
        meter.unsentAnswers = limit / 2 + 1
        let isHolding = flow.isHolding(meter)
        #expect(isHolding)
        meter.unsentAnswers = limit / 2
        let isHoldingBelow = flow.isHolding(meter)
        #expect(!isHoldingBelow && flow.phase == .draining && flow.isOpen && flow.mayStartCalls)
        let draining = flow.checkDraining(meter)
        #expect(draining == .draining && flow.phase == .draining)
        meter.unsentAnswers = 0
        let drained = flow.checkDraining(meter)
        let drainedAgain = flow.checkDraining(meter)
        #expect(drained == .drained && drainedAgain == .notDraining && flow.phase == .open)
    }

    @Test("Calls are held again while the answers drain")
    func heldWhileDraining() {
        var flow = held(Meter(unsentAnswers: limit + 1))
        _ = flow.isHolding(Meter())
        #expect(flow.phase == .draining)
        flow.add(limit + 1)
        let isHolding = flow.isHolding(Meter(unsentAnswers: limit + 1))
        let draining = flow.checkDraining(Meter())
        #expect(isHolding && draining == .notDraining && flow.phase == .held(quietTicks: 0))
    }

    @Test("A peer that has written bytes read or gives credit for large messages is not quiet")
    func progressInAnswerFlow() {
        var meter = Meter(unsentAnswers: limit + 1)
        var flow = held(meter)
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 1))
        meter.writtenAnswers = 1
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 0))
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 1))
        flow.creditCame()
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 0))
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 1))
    }

    @Test("Credit that came before calls were held is no progress")
    func creditBeforeAnswerFlow() {
        let meter = Meter(unsentAnswers: limit + 1)
        var flow = AnswerFlow(limit: limit)
        flow.creditCame()
        flow.add(meter.unsentAnswers)
        _ = flow.isHolding(meter)
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 1))
    }

    @Test("Refused calls are held again when fewer bytes are unsent or credit comes, not when bytes are written")
    func refusingInAnswerFlow() {
        var meter = Meter(unsentAnswers: 3 * limit)
        var flow = refusing(meter)
        meter.writtenAnswers = 1
        _ = flow.tick(meter)
        #expect(flow.phase == .refusing)
        meter.unsentAnswers -= 1
        _ = flow.tick(meter)
        #expect(flow.phase == .held(quietTicks: 0))
        var other = refusing(meter)
        other.creditCame()
        _ = other.tick(meter)
        #expect(other.phase == .held(quietTicks: 0))
    }

    @Test("One timer runs at a time, and goes on while calls are held or refused")
    func timerOfAnswerFlow() {
        let meter = Meter(unsentAnswers: limit + 1)
        var flow = held(meter)
        let starts = flow.startTicking()
        let startsAgain = flow.startTicking()
        #expect(starts && !startsAgain)
        let goesOn = flow.tick(meter)
        let isRunning = !flow.startTicking()
        #expect(goesOn && isRunning)
        let goesOnWhenOpen = flow.tick(Meter())
        let startsLater = flow.startTicking()
        #expect(!goesOnWhenOpen && startsLater)
    }
}
