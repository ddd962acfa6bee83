import Testing

@testable import DistantObjects

@Suite("The place of a call, and why it must not run")
struct CallPlaceTests {
    private static let all: [CallPlace] = [
        .waiting, .delayed, .ready(.inTurn), .ready(.outOfTurn), .started(.inTurn, needsHelper: false),
        .started(.inTurn, needsHelper: true), .started(.outOfTurn, needsHelper: false),
        .started(.outOfTurn, needsHelper: true), .over,
    ]

    /// Expects a transition to lead from each place to the one that the table gives, and to change no other place.
    private func expectChanges(
        _ changes: [(CallPlace, CallPlace)], by transition: (inout CallPlace) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for before in Self.all {
            var place = before
            transition(&place)
            let expected = changes.first { $0.0 == before }?.1 ?? before
            #expect(place == expected, "\(before)", sourceLocation: sourceLocation)
        }
    }

    @Test("A call waits for its turn and for the answers among its arguments, and starts once")
    func wayOfCallPlace() {
        expectChanges([(.waiting, .delayed)], by: { $0.delay() })
        expectChanges([(.delayed, .waiting)], by: { $0.answerIsKnown() })
        for turn in [CallPlace.Turn.inTurn, .outOfTurn] {
            expectChanges([(.waiting, .ready(turn))], by: { $0.becomeReady(turn) })
        }
        for needsHelper in [false, true] {
            expectChanges(
                [
                    (.ready(.inTurn), .started(.inTurn, needsHelper: needsHelper)),
                    (.ready(.outOfTurn), .started(.outOfTurn, needsHelper: needsHelper)),
                ], by: { $0.start(needsHelper: needsHelper) })
        }
    }

    @Test("A call that has started needs a helper if others were ready, in and out of turn")
    func helperOfCallPlace() {
        let helped = Self.all.filter(\.needsHelper)
        #expect(helped == [.started(.inTurn, needsHelper: true), .started(.outOfTurn, needsHelper: true)])
    }

    @Test("The first job of a call returns once, and lets the next message start only if the call was in turn")
    func firstJobOfCallPlace() {
        for before in Self.all {
            let expected: CallPlace.FirstJobAction =
                switch before {
                case .started(.inTurn, _): .countAndFreeObject
                case .started(.outOfTurn, _): .count
                case .waiting, .delayed, .ready, .over: .none
                }
            var place = before
            let action = place.firstJobReturned()
            #expect(action == expected && place == (expected == .none ? before : .over), "\(before)")
            let again = place.firstJobReturned()
            #expect(again == .none, "\(before)")
        }
    }

    @Test("The gravest obstacle stays, in whatever order they are found")
    func obstaclesOfCall() {
        let line: [Obstacle] = [.none, .tables, .answers, .calls, .failure, .late, .cancelled]
        for (index, first) in line.enumerated() {
            for (otherIndex, second) in line.enumerated() {
                var obstacle = first
                obstacle.add(second)
                #expect(obstacle == line[max(index, otherIndex)], "\(first), then \(second)")
            }
        }
    }
}
