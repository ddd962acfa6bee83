import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: calls, answers and credit")
struct StateCallTests {
    @Test("A call is answered, and both tables are empty again")
    func callInStateCall() throws {
        let (client, server) = try StateSide.pair()
        try client.call(1)
        let frames = client.takeFrames()
        #expect(frames.map(\.kind) == [.call] && frames[0].form == .withValues)
        try server.receive(frames)
        let call = try #require(server.start())
        #expect(call.message.name == "take" && call.argumentCount == 1 && server.state.serving.runningCalls == 1)
        #expect(try server.answer(call) == .written)
        try client.receive(server.takeFrames())
        #expect(client.done == ["answer 1"] && client.answers[1] == .result)
        #expect(client.isAtRest && server.isAtRest && server.state.serving.runningCalls == 0)
    }

    @Test("Messages to one object start one after the other, and those to another do not wait")
    func mailboxInStateCall() throws {
        let (client, server) = try StateSide.pair()
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        try client.call(1)
        try client.call(2)
        try client.call(3, to: id)
        try server.receive(client.takeFrames())
        let first = try #require(server.start())
        let second = try #require(server.start())
        #expect(first.export.object === server.root && second.export.object === other)
        #expect(server.start() == nil)
        try server.answer(first)
        #expect(server.start()?.question == 1)
    }

    @Test("A large message goes in fragments both ways, and starts when it is complete")
    func fragmentsInStateCall() throws {
        let (client, server) = try StateSide.pair()
        let text = String(repeating: "x", count: 100_000)
        _ = try client.call(1, StateSide.message("take") { try $0.encode(text) })
        let frames = client.takeFrames()
        #expect(frames[0].form == .withFragments && frames[0].fragments?.count ?? 0 > 100_000)
        try server.receive(frames)
        let call = try #require(server.start())
        #expect(call.body.takeLargeBytes() > 100_000)
        try server.answer(call, StateSide.message("") { try $0.encode(text) })
        try client.receive(server.takeFrames())
        #expect(client.answers[1] == .result && client.isAtRest)
    }

    @Test("Without credit calls wait in order, and are sent when some is returned")
    func creditInStateCall() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 2
        let (client, server) = try StateSide.pair(limits: limits)
        for waiter in 1...5 { try client.call(waiter) }
        let frames = client.takeFrames()
        #expect(frames.count == 2 && client.state.questions.pending.count == 3)
        try server.receive(frames)
        try server.answer(try #require(server.start()))
        let answers = server.takeFrames()
        #expect(answers.map(\.kind) == [.credit, .return])
        try client.receive(answers)
        // Entering a frame writes no queued messages; they are written at the end of the read.
        #expect(client.takeKinds() == [] && !client.state.isSettled)
        client.endIteration()
        #expect(client.takeKinds() == [.call] && client.state.questions.pending.count == 2 && client.state.isSettled)
    }

    @Test("Calls and one-way messages have separate credits")
    func separateCredit() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        limits.runningCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        #expect(try client.offer())
        #expect(try !client.offer())
        try client.call(1)
        try client.call(2)
        #expect(client.state.questions.pending.count == 1)
        try server.receive(client.takeFrames())
        let oneWay = try #require(server.start())
        #expect(oneWay.question == nil)
        server.endOneWay(oneWay)
        let credit = server.takeFrames()
        #expect(credit.map(\.kind) == [.credit] && credit[0].flags == 2)
        try client.receive(credit)
        #expect(try client.offer())
    }

    @Test("More calls or more credit than granted are refused", arguments: [0, 1, 2] as [UInt8])
    func tooMuchInStateCall(kind: UInt8) throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        let frames = client.takeFrames()
        try server.receive(frames)
        let calls = #expect(throws: ProtocolViolation.self) { try server.receive(frames) }
        #expect(calls?.reason == .overLimit)
        client.host.largeMessageCredit = .notOwed
        let credit = #expect(throws: ProtocolViolation.self) {
            try client.receive(StateFrame(.credit, 2_000, flags: kind))
        }
        #expect(credit?.reason == .overLimit)
    }

    @Test("Messages wait while the channel's queue is full")
    func fullQueue() throws {
        let (client, _) = try StateSide.pair()
        client.host.isQueueFull = true
        try client.call(1)
        #expect(client.takeKinds() == [] && client.state.questions.pending.count == 1)
        client.endIteration()
        #expect(client.takeKinds() == [])
        client.host.isQueueFull = false
        try client.call(2)
        // It does not overtake the first one.
        #expect(client.takeKinds() == [])
        client.endIteration()
        #expect(client.takeKinds() == [.call, .call] && client.state.questions.pending.isEmpty)
    }

    @Test("Small messages do not wait behind a large one for which there is no room")
    func largeWaits() throws {
        let (client, _) = try StateSide.pair()
        client.host.hasRoomForLargeMessages = false
        let text = String(repeating: "x", count: 100_000)
        _ = try client.call(1, StateSide.message("take") { try $0.encode(text) })
        try client.call(2)
        let frames = client.takeFrames()
        #expect(frames.count == 1 && frames[0].form == .withValues)
        client.host.hasRoomForLargeMessages = true
        client.endIteration()
        #expect(client.takeFrames().first?.form == .withFragments)
    }

    @Test("A Return to no question, a second Return, and an unknown status are refused")
    func wrongReturn() throws {
        let (stranger, _) = try StateSide.pair()
        #expect(throws: ProtocolViolation.self) { try stranger.receive(StateFrame(.return, 0, 0, 0)) }
        let (client, server) = try StateSide.pair()
        try client.call(1)
        try server.receive(client.takeFrames())
        try server.answer(try #require(server.start()))
        let answer = server.takeFrames()
        try client.receive(answer)
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(answer) }
        #expect(error?.reason == .outOfStep)
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.return, 0, 0, 0, flags: 9)) }
    }

    @Test("A call to an object that was never exported, or is released, is refused")
    func wrongTarget() throws {
        let (_, server) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) {
            try server.receive(StateFrame(.call, 0, 5, 0, 1, 0, 0, 0))
        }
        #expect(error?.reason == .unknownName)
        let stale = #expect(throws: ProtocolViolation.self) {
            try server.receive(StateFrame(.call, 0, 0, 3, 1, 0, 0, 0))
        }
        #expect(stale?.reason == .outOfStep)
    }

    @Test("A deadline is sent as the time left, and becomes an instant of the receiver's clock")
    func deadlineInStateCall() throws {
        let (client, server) = try StateSide.pair()
        let message = try StateSide.message()
        message.deadline = Deadline(after: .milliseconds(5), at: client.host.now)
        client.host.now += 2_000_000
        server.host.now = 7_000_000_000
        _ = try client.call(1, message)
        try server.receive(client.takeFrames())
        #expect(server.start()?.deadline == 7_003_000_000)
    }

    @Test("Above its limit of running calls a side refuses further ones")
    func runningCalls() throws {
        var limits = ConnectionLimits()
        limits.runningCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        try client.call(1)
        try client.call(2, to: id)
        try server.receive(client.takeFrames())
        #expect(server.start()?.obstacle == Obstacle.none)
        #expect(server.start()?.obstacle == .calls)
    }
}
