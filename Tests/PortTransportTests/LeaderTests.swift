import Testing

@testable import PortTransport

@Suite("The states of the loop: its leader, its watchdog and the source read last")
struct LeaderTests {
    private static let all: [Leader] = [
        .missing, .called, .idle(.awake), .idle(.looking), .idle(.sleeping), .working, .reading(.awake),
        .reading(.looking), .reading(.sleeping), .gone,
    ]

    /// Expects a transition to lead from each state to the one that the table gives, and to change no other state.
    private func expectChanges(
        _ changes: [(Leader, Leader)], by transition: (inout Leader) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for before in Self.all {
            var state = before
            transition(&state)
            let expected = changes.first { $0.0 == before }?.1 ?? before
            #expect(state == expected, "\(before)", sourceLocation: sourceLocation)
        }
    }

    @Test("New work reaches the leader in the way that it waits, and only once")
    func newWorkInLeader() {
        let expected: [(Leader, Leader, Leader.Notice)] = [
            (.missing, .missing, .start), (.called, .called, .none), (.idle(.awake), .idle(.awake), .none),
            (.idle(.looking), .idle(.awake), .news), (.idle(.sleeping), .idle(.awake), .wake),
            (.working, .working, .none), (.reading(.awake), .reading(.awake), .none),
            (.reading(.looking), .reading(.awake), .news), (.reading(.sleeping), .reading(.awake), .wake),
            (.gone, .gone, .none),
        ]
        #expect(expected.map(\.0) == Self.all)
        for (before, after, notice) in expected {
            var state = before
            let given = state.hear()
            #expect(given == notice && state == after, "\(before)")
            guard before != .missing else { continue }
            let givenAgain = state.hear()
            #expect(givenAgain == .none && state == after, "\(before)")
        }
    }

    @Test("One of the threads takes the lead after a call")
    func takesTheLead() {
        for before in Self.all {
            var state = before
            let leads = state.takeLead()
            #expect(leads == (before == .called), "\(before)")
            #expect(state == (leads ? .idle(.awake) : before), "\(before)")
            state.call()
            let first = state.takeLead()
            let second = state.takeLead()
            #expect(first && !second && state == .idle(.awake), "\(before)")
        }
    }

    @Test("A read keeps how the leader learns of new work; after a piece of work it looks itself")
    func piecesOfLeader() {
        let attentions: [Leader.Attention] = [.awake, .looking, .sleeping]
        expectChanges(Self.all.map { ($0, .working) }, by: { $0.begin(.work) })
        expectChanges(attentions.map { (.idle($0), .reading($0)) }, by: { $0.begin(.read) })
        expectChanges([], by: { $0.begin(.write) })
        expectChanges(
            attentions.map { (.reading($0), .idle($0)) } + [(.working, .idle(.awake))], by: { $0.endPiece() })
        for attention in attentions {
            expectChanges(attentions.map { (.idle($0), .idle(attention)) }, by: { $0.attend(attention) })
        }
    }

    @Test("The watchdog sees a leader in a piece of work and in a read, and no other")
    func heldLeader() {
        let held = Self.all.filter(\.isInPiece)
        #expect(held == [.working, .reading(.awake), .reading(.looking), .reading(.sleeping)])
    }

    @Test("The watchdog that rests is woken once")
    func restOfWatchdog() {
        var watchdog = Watchdog.ticking
        let wasResting = watchdog.wake()
        #expect(!wasResting && watchdog == .ticking)
        watchdog.rest()
        #expect(watchdog == .resting)
        let isWoken = watchdog.wake()
        let isWokenAgain = watchdog.wake()
        #expect(isWoken && !isWokenAgain && watchdog == .ticking)
    }

    @Test("That no thread is left is reported once until one takes over")
    func supplyOfThreads() {
        var supply = ThreadSupply.enough
        for _ in 0..<2 {
            let isReported = supply.runOut()
            let isReportedAgain = supply.runOut()
            #expect(isReported && !isReportedAgain && supply == .exhausted)
            supply.found()
            #expect(supply == .enough)
        }
    }

    @Test("The source read last has a token, and is unarmed after a read that asked for no doorbell")
    func lastSourceOfLeader() {
        #expect(LastSource.none.token == nil && !LastSource.none.isUnarmed)
        #expect(LastSource.armed(7).token == 7 && !LastSource.armed(7).isUnarmed)
        #expect(LastSource.unarmed(7).token == 7 && LastSource.unarmed(7).isUnarmed)
    }
}
