import Testing

@testable import DistantObjects
@_spi(Queues) @testable import PortTransport

@Suite("The state: what comes after this side's Goodbye")
struct StateAfterGoodbyeTests {
    /// A frame that crosses the Goodbye, by its kind and what it is for.
    enum Late: CaseIterable {
        case call, oneWay, answer, cancel, drop, release, callCredit, oneWayCredit, largeMessageCredit, streamCredit,
            item,
            producersEnd, readersEnd, failed, ask, ping, pong, barrier

        var kind: FrameKind {
            switch self {
            case .call, .oneWay: .call
            case .answer: .return
            case .cancel: .cancel
            case .drop: .drop
            case .release: .release
            case .callCredit, .oneWayCredit, .largeMessageCredit, .streamCredit: .credit
            case .item: .item
            case .producersEnd, .readersEnd: .end
            case .failed: .failed
            case .ask: .share
            case .ping: .ping
            case .pong: .pong
            case .barrier: .barrier
            }
        }
    }

    @Test("Each kind is tried that a peer may send after its Hello and before its Goodbye")
    func kindsInStateAfterGoodbye() {
        let others: Set<FrameKind> = [.hello, .goodbye, .provide, .accept]
        #expect(Set(Late.allCases.map(\.kind)) == Set(StateHandshakeTests.kinds).subtracting(others))
    }

    @Test("A frame of the peer is entered as before, and the tables are empty at the end", arguments: Late.allCases)
    func crossingInStateAfterGoodbye(late: Late) throws {
        let crossing = try Crossing(late)
        let (here, there) = (crossing.here, crossing.there)
        here.beginClosing()
        // Some of what crosses can only be under way if the close could not be orderly.
        if !here.sayGoodbyeIfIdle() { here.state.session.writeGoodbye(.closed, "") }
        let ours = here.takeFrames()
        #expect(ours.map(\.form).last == .last)
        let frames = try crossing.send()
        #expect(frames.map(\.kind) == [late.kind])
        let entered = here.state.session.entered
        #expect(throws: Never.self) { try here.receive(frames) }
        #expect(here.state.session.entered == entered + 1)
        try crossing.check()
        // The peer enters what was written before the Goodbye, and answers that.
        #expect(throws: Never.self) { try there.receive(ours) }
        there.beginClosing()
        if !there.sayGoodbyeIfIdle() { there.state.session.writeGoodbye(.closed, "") }
        let rest = there.takeFrames()
        #expect(rest.map(\.kind).last == .goodbye)
        #expect(throws: Never.self) { try here.receive(rest) }
        for side in [here, there] {
            _ = side.transition { state, actions in state.endCalls(side.host, "x", &actions, because: .closedHere) }
            side.transition { state, actions in state.end(&actions) }
            for call in side.running where call.question != nil { #expect(try side.answer(call) == .ended) }
            #expect(side.isAtRest && side.state.phase == .ended)
        }
    }

    /// A step of the switch to shared memory, and what the side does that has said goodbye.
    enum Step: CaseIterable {
        case giveToAsker, moveToAsker, moveToMaker, decline

        var expected: DeliveryStep {
            switch self {
            case .giveToAsker: .takeMemory
            case .moveToAsker, .moveToMaker: .moveInput
            case .decline: .dropMemory
            }
        }
    }

    @Test("A Share is followed, and none is sent", arguments: Step.allCases)
    func sharingInStateAfterGoodbye(step: Step) throws {
        let (client, server) = try StateSide.pair(busy: .onEachFrame)
        #expect(try client.receive(StateFrame(.ping, 1)) == .expectMemory)
        client.state.askForMemory()
        let asker = step == .giveToAsker || step == .moveToAsker
        let (here, there) = asker ? (client, server) : (server, client)
        if step == .giveToAsker { here.state.session.writeGoodbye(.closed, "") }
        #expect(try server.receive(try #require(client.takeFrames().last { $0.kind == .share })) == .makeMemory)
        server.state.memoryWasMade([3, 4, 5])
        server.host.hasSharedMemory = true
        var last = try #require(server.takeFrames().last)
        if step != .giveToAsker {
            #expect(try client.receive(last) == .takeMemory)
            client.state.memoryWasTaken(step == .decline ? .none(isOffered: true) : .taken)
            last = try #require(client.takeFrames().last)
        }
        if step == .moveToAsker {
            #expect(try server.receive(last) == .moveInput)
            last = try #require(server.takeFrames().last)
        }
        here.state.session.writeGoodbye(.closed, "")
        _ = here.takeFrames()
        #expect(last.kind == .share && there.takeKinds() == [])
        #expect(try here.receive(last) == step.expected)
        if step == .giveToAsker { here.state.memoryWasTaken(.taken) }
        #expect(!here.takeKinds().contains(.share))
    }
}

/// Two sides with something under way, of which one is about to say goodbye.
private struct Crossing {
    /// The side that says goodbye.
    let here: StateSide
    let there: StateSide
    private let late: StateAfterGoodbyeTests.Late
    private let source = StreamSource()
    private var ticket: Ticket?

    init(_ late: StateAfterGoodbyeTests.Late) throws {
        self.late = late
        var limits = ConnectionLimits()
        // Credit is returned for each message.
        (limits.queuedCalls, limits.runningCalls) = (1, 1)
        (there, here) = try StateSide.pair(limits: limits, busy: late == .ask ? .onEachFrame : nil)
        switch late {
        case .answer:
            try here.call(1)
            try deliver(from: here)
            _ = try #require(there.start())
        case .cancel:
            ticket = try there.call(1)
            try deliver(from: there)
            _ = try #require(here.start())
        case .drop:
            there.references = [try there.promise()]
            try deliver(from: there)
            try here.answer(try #require(here.start()), keeping: .object(StateObject()))
            #expect(here.state.serving.answers.keptCount == 1)
        case .release:
            let gift = StateObject()
            _ = try here.call(1, StateSide.message("takeObject") { try $0.encode(gift) })
            try answered(by: there)
            #expect(here.state.session.references.exports.count == 1)
        case .callCredit:
            try here.call(1)
            try deliver(from: here)
            #expect(here.state.session.credit.calls == 0)
        case .oneWayCredit, .failed:
            #expect(try here.offer())
            try deliver(from: here)
            _ = try #require(there.start())
            try deliver(from: there)
            #expect(here.state.session.credit.oneWays == 0)
        case .largeMessageCredit: here.host.largeMessageCredit = .mayGoOn
        case .streamCredit, .readersEnd:
            try here.call(1, streams: source)
            try answered(by: there)
            if late == .readersEnd {
                #expect(there.begin(try inbox(there)))
                try deliver(from: there)
                #expect(here.started.count == 1)
            }
        case .item, .producersEnd:
            try there.call(1, streams: source)
            try answered(by: here)
            #expect(here.begin(try inbox(here)))
            try deliver(from: here)
            #expect(there.started.count == 1)
        case .pong:
            here.state.send(.ping)
            try deliver(from: here)
        case .ask:
            here.state.send(.ping)
            try deliver(from: here)
        case .call, .oneWay, .ping, .barrier: break
        }
        // What is written from now on crosses the Goodbye.
        if late != .pong { try deliver(from: there) }
        (here.done, there.done) = ([], [])
    }

    /// Writes the frame that crosses.
    func send() throws -> [StateFrame] {
        let gift = StateObject()
        switch late {
        case .call: _ = try there.call(1, StateSide.message("takeObject") { try $0.encode(gift) })
        case .oneWay: #expect(try there.offer())
        case .answer: try there.answer(there.running[0])
        case .cancel:
            let ticket = try #require(ticket)
            there.transition { state, actions in state.giveUp(ticket, CancellationError(), &actions) }
        case .drop, .release:
            there.references = []
            #expect(there.release())
        case .callCredit: _ = try #require(there.start())
        case .oneWayCredit: there.endOneWay(there.running[0])
        case .failed:
            there.endOneWay(there.running[0], ConnectionError(.methodFailed, "x"))
            // Behind it comes the credit.
            return [there.takeFrames()[0]]
        case .largeMessageCredit: there.state.writeLargeMessageCredit(100)
        case .streamCredit: #expect(there.begin(try inbox(there), readAhead: 0))
        case .item: #expect(try there.send(2, of: there.started[0]).allowance != nil)
        case .producersEnd: try there.end(there.started[0])
        case .readersEnd: there.stop(try inbox(there))
        case .ask: there.state.askForMemory()
        case .ping, .barrier: there.state.send(late.kind)
        case .pong: break
        }
        return there.takeFrames()
    }

    /// Checks what has come of the frame.
    func check() throws {
        switch late {
        case .call, .oneWay:
            #expect(here.start() == nil && here.state.serving.unfinished == 0)
            #expect(here.done.contains("release") == (late == .call))
        case .answer: #expect(here.answers == [1: .result] && here.state.questions.table.count == 0)
        case .cancel: #expect(here.done.contains("cancel 0"))
        case .drop: #expect(here.state.serving.answers.keptCount == 0 && here.done.contains("unexport"))
        case .release: #expect(here.state.session.references.exports.count == 0 && here.done.contains("unexport"))
        case .callCredit: #expect(here.state.session.credit.calls == 1)
        case .oneWayCredit: #expect(here.state.session.credit.oneWays == 1)
        case .largeMessageCredit: #expect(here.done.contains("flush"))
        // The close has ended the stream.
        case .streamCredit: #expect(here.started.isEmpty && here.state.session.streams.outgoingCount == 1)
        case .item: #expect(try inbox(here).frames.isEmpty && here.state.session.streams.incomingCount == 1)
        case .producersEnd, .readersEnd: #expect(here.state.session.streams.isEmpty)
        case .failed: #expect(here.done.contains("event"))
        case .ask: #expect(here.state.session.memory.sharing.phase == .never && !here.takeKinds().contains(.share))
        case .ping: break
        // A second answer has nothing to answer.
        case .pong: #expect(throws: ProtocolViolation.self) { try here.state.receivePong(0) }
        case .barrier: #expect(here.state.session.pings.waitingBarriers == 0)
        }
    }

    private func deliver(from side: StateSide) throws {
        try (side === here ? there : here).receive(side.takeFrames())
    }

    /// Delivers a call to a side, which answers it.
    private func answered(by side: StateSide) throws {
        let caller = side === here ? there : here
        try deliver(from: caller)
        try side.answer(try #require(side.start()))
        try deliver(from: side)
    }

    /// The stream of which the side is the reader.
    private func inbox(_ side: StateSide) throws -> StreamInbox {
        try #require(side.references.compactMap { $0 as? StateStreamReader }.last).inbox
    }
}

extension BusyTraffic {
    /// So that the sides share memory from the first frame on.
    static let onEachFrame: BusyTraffic = {
        var busy = BusyTraffic()
        busy.frames = 1
        busy.nanoseconds = .max
        return busy
    }()
}
