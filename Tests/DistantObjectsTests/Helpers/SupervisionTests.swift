import PortTransport
import TestSupport
import Testing

@testable import DistantObjects

@Suite("The life of a helper, as transitions", .bounded())
struct SupervisionTests {
    private let second: UInt64 = 1_000_000_000

    /// A life whose process runs.
    private func running(_ policy: RestartPolicy, since instant: UInt64 = 0) -> LifeUnderTest {
        let life = LifeUnderTest(policy)
        #expect(life.needed())
        #expect(life.started(at: instant))
        return life
    }

    @Test("The pauses before restarts grow four times each, within the bounds of the policy")
    func pausesGrow() {
        let policy = RestartPolicy.onFailure(limit: 100)
        #expect(
            (0..<8).map { policy.pause(after: $0) }
                == [
                    .zero, .milliseconds(100), .milliseconds(400), .milliseconds(1_600), .milliseconds(6_400),
                    .milliseconds(25_600), .seconds(30), .seconds(30),
                ])
        let slow = RestartPolicy.onFailure(backoff: .seconds(1) ... .seconds(2))
        #expect(
            (0..<6).map { slow.pause(after: $0) }
                == [1_000, 1_000, 1_000, 1_600, 2_000, 2_000].map { .milliseconds($0) })
        #expect(policy.pause(after: 1_000_000) == .seconds(30))
    }

    @Test("A helper that fails is restarted up to the limit within the period, and then given up for good")
    func limitOfRestarts() {
        let life = running(.onFailure(limit: 3, within: .seconds(10), backoff: .zero ... .seconds(1)))
        for (number, pause) in [0, 100, 400].enumerated() {
            #expect(life.ended(.failed("x"), at: second) == .restart(after: .milliseconds(pause)), "\(number)")
            #expect(life.pauseEnded())
            #expect(life.started(at: second))
        }
        guard case .giveUp(let reason) = life.ended(.failed("it broke"), at: second) else {
            Issue.record("it was not given up")
            return
        }
        #expect(reason.contains("it broke"))
        #expect(!life.needed() && !life.pauseEnded() && !life.started(at: second))
        // The user may start it anew, with a new count.
        #expect(life.start())
        #expect(life.started(at: 2 * second))
        #expect(life.ended(.failed("x"), at: 2 * second) == .restart(after: .zero))
    }

    @Test("Ends outside the period do not count, and a process that has run for a minute clears the count")
    func countIsForgotten() {
        let policy = RestartPolicy.onFailure(limit: 1, within: .seconds(10), backoff: .zero ... .seconds(1))
        let life = running(policy)
        #expect(life.ended(.failed("x"), at: second) == .restart(after: .zero))
        #expect(life.pauseEnded() && life.started(at: 2 * second))
        #expect(life.ended(.failed("x"), at: 12 * second) == .restart(after: .milliseconds(100)))
        #expect(life.pauseEnded() && life.started(at: 13 * second))
        // The one at 12 s is within the period, but this process has run for a minute.
        let old = life.copy()
        #expect(old.ended(.failed("x"), at: 73 * second) == .restart(after: .zero))
        guard case .giveUp = life.ended(.failed("x"), at: 21 * second) else {
            Issue.record("the second end within the period did not count")
            return
        }
    }

    @Test("An end before the connection counts twice")
    func earlyEndCountsTwice() {
        let life = LifeUnderTest(.onFailure(limit: 3))
        #expect(life.needed())
        #expect(life.ended(.failed("x"), at: 0) == .restart(after: .zero))
        #expect(life.pauseEnded())
        guard case .giveUp = life.ended(.failed("x"), at: 0) else {
            Issue.record("two early ends count less than four")
            return
        }
    }

    @Test("A shortage does not count as an end: a start is tried again after growing pauses, within the period")
    func shortageIsPostponed() {
        let life = LifeUnderTest(.onFailure(limit: 0, within: .seconds(10), backoff: .zero ... .zero))
        #expect(life.needed())
        for instant in [0, second, 9 * second] {
            #expect(life.ended(.shortage("x"), at: instant) == .restart(after: Supervision.shortestPostponement))
            #expect(life.phase == .waiting && life.pauseEnded())
        }
        let lasting = life.copy()
        #expect(
            lasting.ended(.shortage("x"), at: 10 * second)
                == .giveUp("it could not be started for \(Duration.seconds(10)): x"))
        // A process that runs ends the shortage, and so does another kind of end.
        #expect(life.started(at: 10 * second))
        #expect(life.ended(.orderly, at: 11 * second) == .nothing && life.needed())
        #expect(life.ended(.shortage("x"), at: 11 * second) == .restart(after: Supervision.shortestPostponement))
        #expect(life.pauseEnded() && life.ended(.orderly, at: 12 * second) == .nothing && life.needed())
        #expect(life.ended(.shortage("x"), at: 30 * second) == .restart(after: Supervision.shortestPostponement))

        let growing = LifeUnderTest(.always)
        #expect(growing.needed())
        for pause in [100, 400, 1_600] {
            #expect(growing.ended(.shortage("x"), at: 0) == .restart(after: .milliseconds(pause)))
            #expect(growing.pauseEnded())
        }
        // The first restart of a process that has run is at once all the same.
        #expect(growing.started(at: second) && growing.ended(.failed("x"), at: 2 * second) == .restart(after: .zero))
        let once = LifeUnderTest(.never)
        #expect(once.needed())
        #expect(once.ended(.shortage("x"), at: 0) == .giveUp("x, and is started only once"))
    }

    @Test("A start by hand does not wait for the end of a pause")
    func startInPause() {
        let life = running(.onFailure)
        #expect(life.ended(.failed("x"), at: second) == .restart(after: .zero))
        #expect(life.start())
        #expect(life.phase == .starting)
        #expect(!life.pauseEnded())
    }

    @Test(
        "What follows an end depends on the policy",
        arguments: [
            (RestartPolicy.never, "failed", "giveUp"), (.never, "orderly", "giveUp"), (.onFailure, "failed", "restart"),
            (.onFailure, "orderly", "idle"), (.always, "failed", "restart"), (.always, "orderly", "restart"),
            (.always, "hopeless", "giveUp"), (.onFailure, "hopeless", "giveUp"), (.onFailure, "violation", "restart"),
        ])
    func endByPolicy(policy: RestartPolicy, end: String, expected: String) {
        let life = running(policy)
        let ends: [String: Supervision.End] = [
            "failed": .failed("x"), "orderly": .orderly, "hopeless": .hopeless("x"), "violation": .violation("x"),
        ]
        let found =
            switch life.ended(ends[end] ?? .orderly, at: second) {
            case .nothing: life.phase == .idle ? "idle" : "nothing"
            case .restart: life.phase == .waiting ? "restart" : "restart in another phase"
            case .giveUp: "giveUp"
            }
        #expect(found == expected)
    }

    @Test("The same violation of the protocol twice is not tried a third time; another one is")
    func sameViolationTwice() {
        let life = running(.onFailure(limit: 10))
        for text in ["a", "b"] {
            guard case .restart = life.ended(.violation(text), at: second) else {
                Issue.record("\(text) was not followed by a restart")
                return
            }
            #expect(life.pauseEnded() && life.started(at: second))
        }
        guard case .giveUp = life.ended(.violation("b"), at: second) else {
            Issue.record("the same violation was tried again")
            return
        }
    }

    @Test("A restart by hand ends the process of now, and the next one starts at once, whatever the policy and the end")
    func restartByHand() {
        for policy in [RestartPolicy.never, .onFailure(limit: 0), .always] {
            for end in [Supervision.End.orderly, .failed("x"), .violation("x"), .hopeless("x")] {
                let life = running(policy)
                #expect(life.restart() == .end)
                // The process is ended once, and a call does not start another one meanwhile.
                #expect(life.restart() == .end && !life.needed() && !life.start())
                #expect(life.ended(end, at: second) == .restart(after: .zero))
                #expect(life.pauseEnded() && life.started(at: second))
            }
        }
        let starting = LifeUnderTest(.onFailure)
        #expect(starting.needed() && starting.restart() == .end)
        // The start under way may be one of the program before.
        #expect(!starting.started(at: 0))
        #expect(starting.ended(.orderly, at: 0) == .restart(after: .zero))
    }

    @Test("A restart by hand starts a helper that does not run, and what was before does not count any more")
    func restartWithoutProcess() {
        let policy = RestartPolicy.onFailure(limit: 1, backoff: .zero ... .seconds(1))
        let idle = LifeUnderTest(policy)
        #expect(idle.restart() == .start && idle.phase == .starting)

        let life = running(policy)
        #expect(life.ended(.failed("x"), at: second) == .restart(after: .zero))
        #expect(life.restart() == .start && !life.pauseEnded() && life.started(at: second))
        #expect(life.ended(.failed("x"), at: second) == .restart(after: .zero))
        #expect(life.pauseEnded() && life.started(at: second))
        guard case .giveUp = life.ended(.failed("x"), at: second) else {
            Issue.record("it was not given up")
            return
        }
        #expect(life.restart() == .start && life.started(at: second))
        #expect(life.ended(.failed("x"), at: second) == .restart(after: .zero))
        #expect(life.stop() && life.restart() == .nothing)
    }

    @Test("In each phase, events that do not belong there change nothing, and a stop is final", arguments: 0..<7)
    func strayEvents(number: Int) {
        var life = LifeUnderTest(.onFailure(limit: 0))
        if number > 0 { #expect(life.needed()) }
        switch number {
        case 2: #expect(life.started(at: 0))
        case 3:
            life = running(.onFailure)
            _ = life.ended(.failed("x"), at: second)
        case 4: _ = life.ended(.failed("x"), at: second)
        case 5: #expect(life.stop())
        case 6:
            life = running(.onFailure)
            #expect(life.restart() == .end)
        default: break
        }
        let phase = life.phase
        if phase != .waiting { #expect(!life.pauseEnded()) }
        if phase != .starting { #expect(!life.started(at: second)) }
        if phase != .idle { #expect(!life.needed()) }
        switch phase {
        case .starting, .running, .restarting: break
        default: #expect(life.ended(.failed("y"), at: second) == .nothing)
        }
        #expect(life.phase == phase)
        #expect(life.stop() == (phase != .stopped))
        #expect(!life.stop() && !life.start() && !life.needed())
        #expect(life.ended(.orderly, at: second) == .nothing)
        #expect(life.phase == .stopped)
    }
}

/// A life that expectations can change.
private final class LifeUnderTest {
    private var life: Supervision

    init(_ policy: RestartPolicy) { life = Supervision(policy) }

    private init(_ life: Supervision) { self.life = life }

    func copy() -> LifeUnderTest { LifeUnderTest(life) }

    var phase: Supervision.Phase { life.phase }
    func needed() -> Bool { life.needed() }
    func start() -> Bool { life.start() }
    func restart() -> Supervision.Restart { life.restart() }
    func started(at now: UInt64) -> Bool { life.started(at: now) }
    func pauseEnded() -> Bool { life.pauseEnded() }
    func stop() -> Bool { life.stop() }
    func ended(_ end: Supervision.End, at now: UInt64) -> Supervision.Next { life.ended(end, at: now) }
}
