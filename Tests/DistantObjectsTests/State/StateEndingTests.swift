import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: closing and the end")
struct StateEndingTests {
    @Test("An orderly close answers what was read, then says Goodbye; what waits for credit fails")
    func close() throws {
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
        #expect(server.state.isEnded && server.done.last == "goodbye")
        server.beginClosing()
        #expect(server.sayGoodbyeIfIdle())
    }

    @Test("A call behind our Goodbye is entered, not answered, and its references are let go")
    func callAfterGoodbye() throws {
        let (client, server) = try StateSide.pair()
        let gift = StateObject()
        server.beginClosing()
        #expect(server.sayGoodbyeIfIdle())
        _ = try client.call(1, StateSide.message("takeObject") { try $0.encode(gift) })
        try server.receive(client.takeFrames())
        #expect(server.done.contains("release") && server.start() == nil && server.state.unfinished == 0)
        try client.receive(server.takeFrames())
        // The Goodbye's watermark says that it was not taken.
        client.transition { state, actions in state.failUnanswered(client.host, "c", &actions) }
        #expect(client.failures == [1: .notDelivered])
    }

    @Test("Fragments of a call that crossed our Goodbye are skipped, of one never begun refused")
    func fragmentsAfterGoodbye() throws {
        let (client, server) = try StateSide.pair()
        let text = String(repeating: "x", count: 100_000)
        _ = try client.call(1, StateSide.message("take") { try $0.encode(text) })
        let frames = client.takeFrames()
        server.state.writeGoodbye(.closed, "")
        #expect(throws: Never.self) { try server.receive(frames) }
        let (_, other) = try StateSide.pair()
        #expect(throws: ProtocolViolation.self) { try other.receive(fragmentsOf: 9, nil) }
    }

    @Test("A second Goodbye, and one of a frame that was never sent, are refused")
    func wrongGoodbye() throws {
        let (client, _) = try StateSide.pair()
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.goodbye, 9, 0, 0)) }
        let (other, _) = try StateSide.pair()
        try other.receive(StateFrame(.goodbye, 1, 0, 0))
        let error = #expect(throws: ProtocolViolation.self) { try other.receive(StateFrame(.goodbye, 1, 0, 0)) }
        #expect(error?.reason == .outOfStep)
    }

    @Test("Nothing is written behind a Goodbye but what the channel refuses")
    func behindGoodbye() throws {
        let (client, _) = try StateSide.pair()
        client.state.writeGoodbye(.closed, "")
        client.state.writeGoodbye(.overLimit, "again")
        #expect(client.takeFrames().map(\.form) == [.last])
    }

    @Test("At the end a call was not sent, not delivered, or nobody knows")
    func outcomes() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 3
        let (client, _) = try StateSide.pair(limits: limits)
        for waiter in 1...4 { try client.call(waiter) }
        // Frame 1 is the Hello; 2 and 3 are written, the peer took 2.
        client.host.writtenFrames = 3
        try client.receive(StateFrame(.goodbye, 2, 7, 0))
        let end = client.transition { state, actions in
            state.endCalls(client.host, "c", &actions) { _ in .lost(nil) }
        }
        guard case .lost = end else { throw Unexpected() }
        #expect(client.failures == [1: .outcomeUnknown, 2: .notDelivered, 3: .notSent, 4: .notSent])
        let again = client.transition { state, actions in
            state.endCalls(client.host, "c", &actions) { _ in .closedHere }
        }
        guard case .lost = again else { throw Unexpected() }
        client.transition { state, actions in state.end(&actions) }
        #expect(client.isAtRest && client.state.phase == .ended)
    }

    @Test("One-way messages that the peer did not take are counted as lost, once")
    func losses() throws {
        let (client, _) = try StateSide.pair()
        for _ in 0..<3 { #expect(try client.offer()) }
        try client.receive(StateFrame(.goodbye, 2, 0, 0))
        _ = client.transition { state, actions in state.endCalls(client.host, "c", &actions) { _ in .closedHere } }
        #expect(client.state.oneWays.losses.count == 2)
        let (first, again) = (client.state.oneWays.takeLosses(), client.state.oneWays.takeLosses())
        #expect(first != nil && again == nil)
    }

    @Test("A Failed must name a one-way message that was sent")
    func failed() throws {
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

    @Test("At the end calls that run are cancelled, and all that the peer held is let go")
    func end() throws {
        let (client, server) = try StateSide.pair()
        try client.call(1)
        try client.call(2)
        try server.receive(client.takeFrames())
        let call = try #require(server.start())
        _ = server.transition { state, actions in state.endCalls(server.host, "s", &actions) { _ in .lost(nil) } }
        // What was read still starts, until the end.
        server.transition { state, actions in state.end(&actions) }
        #expect(server.done == ["cancel 0", "release"])
        #expect(try server.answer(call) == .ended)
        #expect(server.takeKinds() == [] && server.start() == nil)
    }

    private struct Unexpected: Error {}
}
