import Testing

@testable import DistantObjects

@Suite("The life of a stream of this side")
struct StreamLifeTests {
    /// A state of `StreamLife` without its error.
    private enum Kind: CaseIterable {
        case offered, asked, running, full, stopping, withdrawn, ended, over

        var life: StreamLife {
            switch self {
            case .offered: .offered
            case .asked: .asked
            case .running: .running
            case .full: .full
            case .stopping: .stopping(StreamLifeTests.earlier)
            case .withdrawn: .withdrawn(StreamLifeTests.earlier)
            case .ended: .ended(StreamLifeTests.earlier)
            case .over: .over(StreamLifeTests.earlier)
            }
        }

        init(_ life: StreamLife) {
            switch life {
            case .offered: self = .offered
            case .asked: self = .asked
            case .running: self = .running
            case .full: self = .full
            case .stopping: self = .stopping
            case .withdrawn: self = .withdrawn
            case .ended: self = .ended
            case .over: self = .over
            }
        }
    }

    private static let earlier = ConnectionError(.cancelled, "earlier")
    private static let now = ConnectionError(.closed, "now")

    /// Expects a transition to have the result of the table for each state.
    private func expect<Action: Equatable>(
        _ table: [(Kind, Kind, Action)], by transition: (inout StreamLife) -> Action,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(table.map(\.0) == Kind.allCases, sourceLocation: sourceLocation)
        for (before, after, action) in table {
            var life = before.life
            let found = transition(&life)
            #expect(found == action && Kind(life) == after, "\(before)", sourceLocation: sourceLocation)
        }
    }

    @Test("A stream starts with the first credit for an item, and credit comes too late for one that has ended")
    func creditInStreamLife() {
        expect(
            [
                (.offered, .running, .start), (.asked, .running, .start), (.running, .running, .wake),
                (.full, .full, .wake), (.stopping, .stopping, .none), (.withdrawn, .ended, .none),
                (.ended, .ended, .none), (.over, .over, .none),
            ], by: { $0.receiveCredit(isEnough: true) })
        expect(
            [
                (.offered, .asked, .none), (.asked, .asked, .none), (.running, .running, .wake),
                (.full, .full, .wake), (.stopping, .stopping, .none), (.withdrawn, .ended, .none),
                (.ended, .ended, .none), (.over, .over, .none),
            ], by: { $0.receiveCredit(isEnough: false) })
    }

    @Test("The reader's End stops a task, and frees the number of a stream without one")
    func readersEndInStreamLife() {
        expect(
            [
                (.offered, .over, .endUnread), (.asked, .over, .endUnread), (.running, .stopping, .cancel),
                (.full, .stopping, .cancel), (.stopping, .stopping, .none), (.withdrawn, .over, .free),
                (.ended, .over, .free), (.over, .over, .none),
            ], by: { $0.receiveReadersEnd(Self.now) })
    }

    @Test("Only a reader that has given no credit passes a stream back")
    func takeBackInStreamLife() {
        expect(
            [
                (.offered, .over, .end), (.asked, .asked, .refuse), (.running, .running, .refuse),
                (.full, .full, .refuse), (.stopping, .stopping, .refuse), (.withdrawn, .over, .free),
                (.ended, .ended, .refuse), (.over, .over, .refuse),
            ], by: { $0.takeBack(Self.now) })
    }

    @Test("A stream is put once into the list of those that wait for room")
    func roomInStreamLife() {
        for kind in Kind.allCases {
            var life = kind.life
            let isNew = life.awaitRoom()
            #expect(isNew == (kind == .running), "\(kind)")
            #expect(life.awaitsRoom == (kind == .running || kind == .full), "\(kind)")
            life.stopAwaitingRoom()
            #expect(Kind(life) == (kind == .full ? .running : kind), "\(kind)")
        }
    }

    @Test("The end of a task frees the number if the reader has ended before")
    func endOfTaskInStreamLife() {
        expect(
            [
                (.offered, .offered, .refuse), (.asked, .asked, .refuse), (.running, .ended, .end),
                (.full, .ended, .end), (.stopping, .over, .endAndFree), (.withdrawn, .withdrawn, .refuse),
                (.ended, .ended, .refuse), (.over, .over, .refuse),
            ], by: { $0.endTask(Self.now) })
    }

    @Test("An orderly close ends each stream that has not ended")
    func closeInStreamLife() {
        expect(
            [
                (.offered, .withdrawn, .endUnread), (.asked, .ended, .endUnread), (.running, .ended, .end),
                (.full, .ended, .end), (.stopping, .over, .endAndFree), (.withdrawn, .withdrawn, .none),
                (.ended, .ended, .none), (.over, .over, .none),
            ], by: { $0.close(Self.now) })
    }

    @Test("With the connection each stream is over, and keeps the reason that it had")
    func lossInStreamLife() {
        expect(
            [
                (.offered, .over, .dispose), (.asked, .over, .dispose), (.running, .over, .cancel),
                (.full, .over, .cancel), (.stopping, .over, .cancel), (.withdrawn, .over, .none),
                (.ended, .over, .none), (.over, .over, .none),
            ], by: { $0.lose(Self.now) })
        for kind in Kind.allCases {
            var life = kind.life
            let reason = life.stop ?? Self.now
            _ = life.lose(Self.now)
            #expect(life.stop?.message == reason.message, "\(kind)")
        }
    }

    @Test("A task runs until this side's End, and the reader has ended in two of the states")
    func questionsToStreamLife() {
        #expect(Kind.allCases.filter { $0.life.isRunning } == [.running, .full, .stopping])
        #expect(Kind.allCases.filter { $0.life.readerHasEnded } == [.stopping, .over])
        #expect(Kind.allCases.filter { $0.life.hasEnded } == [.withdrawn, .ended, .over])
        #expect(Kind.allCases.filter { $0.life.stop != nil } == [.stopping, .withdrawn, .ended, .over])
    }
}
