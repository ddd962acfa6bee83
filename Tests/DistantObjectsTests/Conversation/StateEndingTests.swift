import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: closing and ending")
struct StateEndingTests {
    @Test("An orderly close answers calls that were read, and fails calls that wait for credit")
    func closeInStateEnding() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        try client.call(2)
        try server.receive(client.takeFrames())
        let call = try #require(server.start())
        client.beginClosing()
        #expect(client.failures == [2: .notSent])
        #expect(throws: ConnectionError.self) { try client.call(3) }
        // Its own call is not answered yet.
        #expect(!client.sayGoodbyeIfIdle())
        try server.answer(call)
        try client.receive(server.takeFrames())
        #expect(client.done.contains("close if idle") && client.sayGoodbyeIfIdle())
        #expect(try server.receive(client.takeFrames()[0]) == .outliveInput)
        #expect(server.state.session.isEnded && server.done.last == "goodbye")
        server.beginClosing()
        #expect(server.sayGoodbyeIfIdle())
    }

    @Test("A call after this side's Goodbye is entered but not answered, and its references are released")
    func callAfterGoodbye() throws {
        let (client, server) = try StateSide.pair()
        let gift = StateObject()
        server.beginClosing()
        #expect(server.sayGoodbyeIfIdle())
        _ = try client.call(1, StateSide.message("takeObject") { try $0.encode(gift) })
        try server.receive(client.takeFrames())
        #expect(server.done.contains("release") && server.start() == nil && server.state.serving.unfinished == 0)
        try client.receive(server.takeFrames())
        // The watermark of the Goodbye says that it was not taken.
        client.transition { state, actions in state.failUnanswered(client.host, "c", &actions) }
        #expect(client.failures == [1: .notDelivered])
    }

    @Test("Fragments of a call that crosses a Goodbye are skipped, and those of an unknown one refused")
    func fragmentsAfterGoodbye() throws {
        let (client, server) = try StateSide.pair()
        let text = String(repeating: "x", count: 100_000)
        _ = try client.call(1, StateSide.message("take") { try $0.encode(text) })
        let frames = client.takeFrames()
        server.state.session.writeGoodbye(.closed, "")
        #expect(throws: Never.self) { try server.receive(frames) }
        let (_, other) = try StateSide.pair()
        #expect(throws: ProtocolViolation.self) { try other.receive(fragmentsOf: 9, nil) }
    }

    @Test("A connection that was never used makes no table at its end")
    func unusedInStateEnding() throws {
        let (client, server) = try StateSide.pair()
        for side in [client, server] {
            side.beginClosing()
            _ = side.sayGoodbyeIfIdle()
            side.transition { state, actions in state.failUnanswered(side.host, "x", &actions) }
            _ = side.transition { state, actions in state.endCalls(side.host, "x", &actions, because: .closedHere) }
            side.transition { state, actions in state.end(&actions) }
            let calls = side.state.questions.tables.isMade || side.state.questions.record.isMade
            let others = side.state.serving.tables.isMade || side.state.session.large.isUsed
            #expect(!calls && !others && !side.state.session.references.isUsed)
        }
    }

    @Test("Nothing follows a Goodbye, and a call after it says that it was not sent")
    func nothingFollows() throws {
        let (client, _) = try StateSide.pair()
        client.state.session.writeGoodbye(.malformed, "x")
        #expect(client.takeKinds() == [.goodbye] && client.state.session.isEnded)
        let sent = client.state.sent
        #expect(throws: ConnectionError.self) { try client.call(1) }
        client.state.writeLargeMessageCredit(100)
        client.state.send(.ping)
        client.state.session.writeGoodbye(.closed, "")
        #expect(client.takeKinds() == [] && client.state.sent == sent)
        // The channel closes descriptors that it does not send.
        client.state.memoryWasMade([3, 4, 5])
        #expect(client.takeFrames().map(\.descriptors) == [[3, 4, 5]])
    }

    @Test("A second Goodbye, and one with a watermark that was never sent, are refused")
    func wrongGoodbye() throws {
        let (client, _) = try StateSide.pair()
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.goodbye, 9, 0, 0)) }
        let (other, _) = try StateSide.pair()
        try other.receive(StateFrame(.goodbye, 1, 0, 0))
        let error = #expect(throws: ProtocolViolation.self) { try other.receive(StateFrame(.goodbye, 1, 0, 0)) }
        #expect(error?.reason == .outOfStep)
    }

    @Test("After a Goodbye only frames are written that the channel drops")
    func behindGoodbye() throws {
        let (client, _) = try StateSide.pair()
        client.state.session.writeGoodbye(.closed, "")
        client.state.session.writeGoodbye(.overLimit, "again")
        #expect(client.takeFrames().map(\.form) == [.last])
    }

    @Test("At the end a call was not sent, not delivered, or its outcome is unknown")
    func outcomes() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 3
        let (client, _) = try StateSide.pair(limits: limits)
        for waiter in 1...4 { try client.call(waiter) }
        // Frame 1 is the Hello. Frames 2 and 3 are written, and the peer took 2.
        client.host.writtenFrames = 3
        try client.receive(StateFrame(.goodbye, 2, 7, 0))
        let end = client.transition { state, actions in
            state.endCalls(client.host, "c", &actions, because: .lost(nil))
        }
        guard case .refused = end else { throw Unexpected() }
        #expect(client.failures == [1: .outcomeUnknown, 2: .notDelivered, 3: .notSent, 4: .notSent])
        let again = client.transition { state, actions in
            state.endCalls(client.host, "c", &actions, because: .closedHere)
        }
        guard case .refused = again else { throw Unexpected() }
        client.transition { state, actions in state.end(&actions) }
        #expect(client.isAtRest && client.state.phase == .ended)
    }

    @Test("One-way messages that the peer did not take are counted as lost, each once")
    func losses() throws {
        let (client, _) = try StateSide.pair()
        for _ in 0..<3 { #expect(try client.offer()) }
        try client.receive(StateFrame(.goodbye, 2, 0, 0))
        _ = client.transition { state, actions in state.endCalls(client.host, "c", &actions, because: .closedHere) }
        #expect(client.state.questions.oneWays.losses.count == 2)
        let (first, again) = (client.state.questions.oneWays.takeLosses(), client.state.questions.oneWays.takeLosses())
        #expect(first != nil && again == nil)
    }

    @Test("A Failed must name a one-way message that was sent")
    func failedInStateEnding() throws {
        let (client, server) = try StateSide.pair()
        #expect(try client.offer())
        try server.receive(client.takeFrames())
        server.endOneWay(try #require(server.start()), ConnectionError(.methodFailed, "x"))
        let frames = server.takeFrames()
        try client.receive(frames)
        #expect(client.done == ["event"])
        #expect(throws: ProtocolViolation.self) { try client.receive(frames) }
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.failed, 99, 1, 0)) }
    }

    @Test("At the end running calls are cancelled, and objects of the peer are released")
    func endInStateEnding() throws {
        let (client, server) = try StateSide.pair()
        try client.call(1)
        try client.call(2)
        try server.receive(client.takeFrames())
        let call = try #require(server.start())
        _ = server.transition { state, actions in state.endCalls(server.host, "s", &actions, because: .lost(nil)) }
        // Calls that were read still start, until the end.
        server.transition { state, actions in state.end(&actions) }
        #expect(server.done == ["cancel 0", "release"])
        #expect(try server.answer(call) == .ended)
        #expect(server.takeKinds() == [] && server.start() == nil)
    }

    private struct Unexpected: Error {}
}
