import TestSupport
import Testing

@testable import PortTransport

@Suite("What is to be written, in every order of events", .bounded())
struct OutboundQueueScheduleTests {
    typealias Step = OutboundQueueSchedule.Step

    @Test("What arrives is what was enqueued, in every schedule of three steps behind each beginning")
    func everySchedule() {
        let beginnings: [[Step]] = [
            [], [.message], [.message, .frame], [.frame, .message, .message], [.message, .pieceNothing],
            [.message, .pieceByte, .frame], [.message, .pieceAll, .frame], [.message, .writeSome, .message],
            [.message, .writeAll, .frame, .pieceNothing], [.message, .message, .pieceAll, .credit, .frame],
        ]
        let all = Step.allCases
        for beginning in beginnings {
            var places = [Int](repeating: 0, count: 3)
            while true {
                let steps = beginning + places.map { all[$0] }
                do { try OutboundQueueSchedule.run(steps) } catch {
                    Issue.record("\(steps.map { "\($0)" }.joined(separator: ", ")): \(error)")
                    return
                }
                guard let last = places.lastIndex(where: { $0 < all.count - 1 }) else { break }
                places[last] += 1
                for place in (last + 1)..<places.count { places[place] = 0 }
            }
        }
    }

    @Test("What arrives is what was enqueued, in long schedules")
    func longSchedules() {
        let seed = TestSeed.next()
        for round in 0..<3_000 {
            var random = SeededGenerator(seed: seed &+ UInt64(round))
            let steps = (0..<(5 + random.below(60))).map { _ in Step.allCases[random.below(Step.allCases.count)] }
            do { try OutboundQueueSchedule.run(steps) } catch {
                Issue.record("seed \(seed), round \(round), \(steps.map { "\($0)" }.joined(separator: ", ")): \(error)")
                return
            }
        }
    }
}
