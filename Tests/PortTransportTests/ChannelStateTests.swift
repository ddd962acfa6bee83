import Testing

@testable import PortTransport

@Suite("The states of a channel, without a socket")
struct ChannelStateTests {
    /// As `#expect`, which takes no expression that changes a value or cannot copy it.
    private func expect(
        _ condition: Bool, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(condition, comment, sourceLocation: sourceLocation)
    }

    // MARK: Input

    static let inputs: [InputState] = [.endpoint, .moving, .ended, .shared, .sharedEnded]

    @Test("The input moves once, and only if it goes on")
    func move() {
        let announced: [InputState: InputState] = [.endpoint: .moving]
        let moved: [InputState: InputState] = [.endpoint: .shared, .moving: .shared]
        for state in Self.inputs {
            var (first, second) = (state, state)
            expect((first.announceMove() == .made) == (announced[state] != nil))
            expect(first == announced[state] ?? state)
            expect((second.move() == .made) == (moved[state] != nil))
            expect(second == moved[state] ?? state)
        }
    }

    @Test("The input ends once, and its end says where it came from")
    func endOfInput() {
        let ended: [InputState: InputState] = [.endpoint: .ended, .moving: .ended, .shared: .sharedEnded]
        for state in Self.inputs {
            var next = state
            expect((next.end() == .made) == (ended[state] != nil))
            expect(next == ended[state] ?? state)
            expect(next.isEnded && next.isShared == state.isShared)
            expect(state.isEnded == (ended[state] == nil))
        }
        expect(Self.inputs.filter(\.isShared) == [.shared, .sharedEnded])
    }

    @Test("Descriptors of shared memory are lost only where they are expected")
    func arrival() {
        var arrival = SharedMemoryArrival.notExpected
        expect(!arrival.lose() && arrival == .notExpected)
        expect(!arrival.take())
        arrival.expect()
        expect(!arrival.take() && arrival == .notExpected)
        arrival.expect()
        expect(arrival.lose() && arrival == .lost)
        expect(arrival.lose())
        expect(arrival.take() && arrival == .notExpected)
    }

    // MARK: Life

    @Test("A channel starts once, and an end that came before waits for its handler")
    func start() {
        let expected: [(LifeState, LifeState, LifeState.StartAction)] = [
            (.created, .started, .begin), (.started, .started, .refuse), (.cancelled, .ending, .begin),
            (.ending, .ending, .refuse), (.discarded, .over, .deliverEnd), (.over, .over, .refuse),
        ]
        for (before, after, action) in expected {
            var state = before
            expect(state.start() == action && state == after, "\(before)")
        }
    }

    @Test("A channel ends once")
    func endInChannelState() {
        let expected: [(LifeState, LifeState, LifeState.EndAction)] = [
            (.created, .cancelled, .shutDown), (.started, .ending, .shutDown), (.cancelled, .cancelled, .refuse),
            (.ending, .ending, .refuse), (.discarded, .discarded, .refuse), (.over, .over, .refuse),
        ]
        for (before, after, action) in expected {
            var state = before
            expect(state.end() == action && state == after, "\(before)")
            expect(before.hasEnd == (action == .refuse), "\(before)")
        }
    }

    @Test("The end is delivered once, to the handler if there is one")
    func delivery() {
        let expected: [(LifeState, LifeState, LifeState.DeliverAction)] = [
            (.created, .created, .refuse), (.started, .started, .refuse), (.cancelled, .discarded, .discard),
            (.ending, .over, .deliver), (.discarded, .discarded, .refuse), (.over, .over, .refuse),
        ]
        for (before, after, action) in expected {
            var state = before
            expect(state.deliverEnd() == action && state == after, "\(before)")
            expect(before.isOver == (before == .discarded || before == .over))
        }
    }

    @Test("The last side to leave closes the link", arguments: [LinkUsers.input, .output])
    func usersInChannelState(first: LinkUsers) {
        var users: LinkUsers = [.input, .output]
        expect(users.leave(first) == .none)
        expect(users.leave(first) == .none)
        expect(users.leave(first == .input ? .output : .input) == .closeLink)
        expect(users.leave(.input) == .none && users.leave(.output) == .none)
    }

    // MARK: Output

    /// As the thread that writes finds it.
    private func writing(_ change: (inout OutputLifecycle) -> Void = { _ in }) -> OutputLifecycle {
        var output = OutputLifecycle()
        expect(output.beginFlush(isWritable: false, isBlocked: false, canWrite: true) == .write)
        change(&output)
        return output
    }

    @Test("Nothing follows a whole write of an open channel, and something does in every other state")
    func quietInChannelState() {
        expect(writing().isQuiet)
        expect(writing { $0.outliveInput() }.isQuiet)
        expect(writing { $0.share() }.isQuiet)
        expect(!writing { $0.finish() }.isQuiet)
        expect(!writing { _ = $0.close() }.isQuiet)
        expect(!writing { _ = $0.inputEnded(isEmpty: false) }.isQuiet)
        expect(!writing { _ = $0.beginFlush(isWritable: true, isBlocked: false, canWrite: true) }.isQuiet)
        expect(!OutputLifecycle().isQuiet)
    }

    @Test("One thread writes at a time, and the poller's news reach it")
    func flush() {
        var output = OutputLifecycle()
        expect(output.beginFlush(isWritable: false, isBlocked: true, canWrite: true) == .none)
        expect(output.beginFlush(isWritable: true, isBlocked: true, canWrite: false) == .settle)
        expect(output.flush == .idle)
        expect(output.beginFlush(isWritable: true, isBlocked: true, canWrite: true) == .write)
        expect(output.beginFlush(isWritable: false, isBlocked: false, canWrite: true) == .none)
        expect(output.flush == .writing)
        expect(output.cutShort(hasRoom: true) == .writeAgain)
        expect(output.beginFlush(isWritable: true, isBlocked: false, canWrite: true) == .none)
        expect(output.flush == .retrying)
        // Once for the news, and then no more.
        expect(output.cutShort(hasRoom: false) == .writeAgain)
        expect(output.cutShort(hasRoom: false) == .block)
        expect(output.flush == .idle)
        expect(output.beginFlush(isWritable: false, isBlocked: false, canWrite: true) == .write)
        output.endFlush()
        expect(!output.isFlushing)
    }

    @Test("The output is ended once, after everything is written")
    func finish() {
        var output = OutputLifecycle()
        expect(output.queueIsEmpty() == [])
        output.finish()
        expect(output.phase == .finishing && !output.isOpen)
        expect(output.queueIsEmpty() == .finishOutput)
        expect(output.phase == .finished)
        output.finish()
        expect(output.queueIsEmpty() == [])
        expect(output.close() == .discard)
        output.finish()
        expect(output.isClosed && output.queueIsEmpty() == [])
    }

    @Test("A closed output is given up once, by the thread that writes if there is one")
    func closeInChannelState() {
        var output = OutputLifecycle()
        expect(output.close() == .discard)
        expect(output.close() == .none)
        expect(output.fail() == .none)
        expect(output.beginFlush(isWritable: true, isBlocked: false, canWrite: true) == .none)
        expect(output.inputEnded(isEmpty: false) == .endChannel)
        var written = writing()
        expect(written.close() == .leaveToWriter)
        expect(written.isClosed && written.isFlushing)
    }

    @Test("After a failed write the channel ends, or what the peer has sent is read first")
    func failureInChannelState() {
        var output = OutputLifecycle()
        expect(output.fail() == .drain && output.isClosed)
        output = writing()
        expect(output.fail() == .none && !output.isClosed)
        output = OutputLifecycle()
        output.share()
        expect(output.fail() == .endWithViolation)
        for outlives in [false, true] {
            output = OutputLifecycle()
            if outlives { output.outliveInput() }
            _ = output.inputEnded(isEmpty: false)
            expect(output.fail() == .endOfFile)
        }
    }

    @Test("The end of the input ends the channel once everything is written")
    func lastWrite() {
        var output = OutputLifecycle()
        expect(output.inputEnded(isEmpty: true) == .endChannel)
        output = OutputLifecycle()
        expect(output.inputEnded(isEmpty: false) == .flush)
        expect(output.queueIsEmpty() == .endChannel)
        output = writing()
        expect(output.inputEnded(isEmpty: true) == .flush)
        output = OutputLifecycle()
        output.share()
        expect(output.inputEnded(isEmpty: false) == .watchAndFlush)
    }

    @Test("An output that outlives the input ends the channel when it has finished")
    func outlivingInChannelState() {
        var output = OutputLifecycle()
        output.outliveInput()
        expect(output.bound == .finish)
        expect(output.inputEnded(isEmpty: true) == .watchAndFlush)
        expect(output.bound == .lastFinish && output.queueIsEmpty() == [])
        output.finish()
        expect(output.queueIsEmpty() == [.finishOutput, .endChannel])
        // Finished before the input ends, and notified of it after that.
        output = OutputLifecycle()
        output.finish()
        _ = output.queueIsEmpty()
        output.outliveInput()
        expect(output.inputEnded(isEmpty: true) == .endChannel)
        output = OutputLifecycle()
        expect(output.inputEnded(isEmpty: false) == .flush)
        output.outliveInput()
        expect(output.bound == .lastFinish && !output.isLastWrite)
    }

    // MARK: Blocking reader

    @Test("One thread reads at a time, and the loop is stopped once")
    func readerInChannelState() {
        var reader = EndpointReader.loop
        expect(!reader.leave(reserving: true) && reader == .loop)
        expect(reader.enter() == .stopLoop)
        expect(reader.enter() == .refuse)
        expect(reader.expire() == .none && reader == .thread)
        expect(reader.leave(reserving: true) && reader == .reserved)
        expect(!reader.leave(reserving: false) && reader == .reserved)
        expect(reader.enter() == .read && reader == .thread)
        expect(reader.leave(reserving: false) && reader == .loop)
        expect(reader.expire() == .startLoop && reader == .loop)
        reader = .reserved
        expect(reader.expire() == .startLoop && reader == .loop)
    }

    @Test("The input is reserved after some calls in a row, and a gap ends the row")
    func rowInChannelState() {
        var reader = BlockingReader()
        for now in [1_000_000, 1_100_000, 1_200_000] as [UInt64] {
            reader.countCall(at: now)
            expect(!reader.session.mayReserve)
        }
        reader.countCall(at: 1_300_000)
        expect(reader.session.mayReserve && reader.calls.consecutive == 3)
        reader.countCall(at: 1_500_000)
        expect(!reader.session.mayReserve && reader.calls.consecutive == 0)
    }

    @Test("A reservation stays while it is used, and the watchdog is asked for once")
    func reservation() {
        var reader = BlockingReader()
        let watchesEarly = reader.leaveReserving()
        expect(!watchesEarly)
        _ = reader.enter()
        reader.countCall(at: 5_000_000)
        let watches = reader.leaveReserving()
        expect(watches && reader.isWatched)
        expect(reader.reader == .reserved)
        _ = reader.enter()
        let watchesAgain = reader.leaveReserving()
        expect(!watchesAgain && reader.isWatched)
        expect(reader.expire(at: 5_500_000, channelEnds: false) == .keep)
        expect(reader.reader == .reserved)
        // However long ago: a thread reads.
        _ = reader.enter()
        expect(reader.expire(at: 9_000_000, channelEnds: false) == .keep)
        reader.leave()
        expect(reader.isWatched && reader.reader == .loop)
        expect(reader.expire(at: 9_000_000, channelEnds: false) == .startLoop)
        expect(!reader.isWatched && reader.reader == .loop)
    }

    @Test("The end of the channel ends a reservation, and leaves a thread that reads alone")
    func reservationAtEnd() {
        var reader = BlockingReader()
        _ = reader.enter()
        reader.countCall(at: 5_000_000)
        _ = reader.leaveReserving()
        _ = reader.enter()
        expect(reader.expire(at: 5_000_001, channelEnds: true) == .none)
        expect(reader.isReading && !reader.isWatched)
        _ = reader.leaveReserving()
        expect(reader.expire(at: 5_000_001, channelEnds: true) == .startLoop)
        expect(reader.reader == .loop)
    }
}
