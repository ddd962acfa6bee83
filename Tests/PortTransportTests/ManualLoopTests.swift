import TestSupport
import Testing

@testable import PortTransport

@Suite("The manual loop", .bounded())
struct ManualLoopTests {
    /// Two connections whose ends answer each other, and in which order everything came.
    static func history(_ seed: UInt64?) -> [String] {
        let loop = ManualLoop(seed: seed)
        let log = Log()
        var all: [(Channel, Recorder)] = []
        for name in ["a", "b"] {
            let (first, second) = MemoryLink.pair(
                seed: seed.map { $0 &+ UInt64(name.utf8.first ?? 0) }, capacity: 3_000)
            for (side, endpoint) in [("1", first), ("2", second)] {
                let channel = Channel(endpoint: endpoint, loop: loop)
                let recorder = Recorder(onFrame: { kind, number, bytes in
                    log.add("\(name)\(side) \(number) \(bytes.count)")
                    if kind == 1, side == "2" { channel.send(bytes, kind: 3) }
                })
                channel.start(recorder)
                all.append((channel, recorder))
            }
        }
        for index in 0..<50 {
            for (channel, _) in all { channel.send(pattern(index * 7)) }
            if index % 10 == 0 { all[0].0.sendLarge(pattern(70_000)) }
        }
        _ = loop.addTimer(after: .seconds(2)) { log.add("timer 2") }
        _ = loop.addTimer(after: .seconds(1)) { log.add("timer 1") }
        loop.perform { log.add("job") }
        loop.advance(by: .seconds(3))
        for (channel, recorder) in all {
            channel.cancel(TransportError(.cancelled, "done"))
            loop.runUntilIdle()
            log.add("\(recorder.items.count) \(recorder.ends.count)")
        }
        return log.lines.withLock { $0 }
    }

    final class Log: Sendable {
        let lines = Guarded<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test("A seed gives the same run each time; seeds differ; nothing is lost in any", arguments: 0..<20)
    func determinism(seed: Int) {
        let first = Self.history(UInt64(seed))
        #expect(first == Self.history(UInt64(seed)))
        #expect(first != Self.history(UInt64(seed + 1)))
        // Frames of each end arrive in order.
        for end in ["a1", "a2", "b1", "b2"] {
            let numbers = first.filter { $0.hasPrefix(end + " ") }.compactMap { Int($0.split(separator: " ")[1]) }
            #expect(numbers == numbers.sorted())
        }
        #expect(
            first.filter { $0.hasSuffix(" 1") && !$0.hasPrefix("timer") && $0.split(separator: " ").count == 2 }.count
                == 4)
    }

    @Test("Tasks that prefer it run when it is called, and its clock moves only when it is advanced")
    func tasks() async {
        let loop = ManualLoop()
        let log = Log()
        let task = Task(executorPreference: loop) {
            log.add("ran \(loop.isCurrent)")
        }
        #expect(log.lines.withLock { $0 }.isEmpty)
        loop.runUntilIdle()
        await task.value
        #expect(log.lines.withLock { $0 } == ["ran true"])
        let token = loop.addTimer(after: .seconds(5)) { log.add("cancelled") }
        _ = loop.addTimer(after: .seconds(5)) { log.add("fired") }
        loop.cancelTimer(token)
        loop.advance(by: .milliseconds(4_999))
        #expect(log.lines.withLock { $0 } == ["ran true"])
        loop.advance(by: .milliseconds(1))
        #expect(log.lines.withLock { $0 } == ["ran true", "fired"])
        #expect(loop.now == 5_000_000_000)
    }

    @Test("Timers that are added and cancelled at random fire once each, in the order of their times")
    func randomTimers() {
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        let loop = ManualLoop()
        let log = Log()
        var pending: [(time: UInt64, number: Int)] = []
        var tokens: [TimerToken] = []
        var expected: [String] = []
        for number in 0..<2_000 {
            let seconds = random.below(50)
            pending.append((loop.now + UInt64(seconds) * 1_000_000_000, number))
            tokens.append(loop.addTimer(after: .seconds(seconds)) { log.add("\(number)") })
            // Also tokens of timers that are over, whose places others have taken.
            if random.below(3) > 0 {
                let cancelled = random.below(tokens.count)
                loop.cancelTimer(tokens[cancelled])
                pending.removeAll { $0.number == cancelled }
            }
            guard random.below(10) == 0 else { continue }
            loop.advance(by: .seconds(random.below(20)))
            let due = pending.filter { $0.time <= loop.now }.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
            expected += due.map { "\($0.number)" }
            pending.removeAll { $0.time <= loop.now }
            #expect(log.lines.withLock { $0 } == expected, "seed \(seed)")
        }
        #expect(expected.count > 100, "seed \(seed)")
    }
}
