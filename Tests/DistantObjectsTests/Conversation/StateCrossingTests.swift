import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: frames that cross each other")
struct StateCrossingTests {
    private let givenUp = ConnectionError(.cancelled, "given up")

    @Test("A Cancel before the start, during the call, and after its Return", arguments: 0...2)
    func cancelInStateCrossing(stage: Int) throws {
        let (client, server) = try StateSide.pair()
        let ticket = try client.call(1)
        try server.receive(client.takeFrames())
        var call = stage > 0 ? server.start() : nil
        if stage == 2, let started = call { try server.answer(started) }
        client.transition { state, actions in state.giveUp(ticket, givenUp, &actions) }
        #expect(client.failures[1] == .cancelled && client.done == ["fail 1", "abort"])
        // The question stays until its Return, because its number must not be reused before.
        #expect(client.state.questions.table.count == 1)
        try server.receive(client.takeFrames())
        switch stage {
        case 0:
            call = server.start()
            #expect(call?.obstacle == .cancelled)
        case 1: #expect(server.done == ["cancel 0"])
        default: #expect(server.done == [])
        }
        if stage < 2 { try server.answer(try #require(call)) }
        try client.receive(server.takeFrames())
        #expect(client.done.last == "discard" && client.isAtRest && server.isAtRest)
    }

    @Test("A call given up while it waits for credit, or just before it is sent, is never sent")
    func giveUpUnsent() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, _) = try StateSide.pair(limits: limits)
        try client.call(1)
        let ticket = try client.call(2)
        client.transition { state, actions in state.giveUp(ticket, givenUp, &actions) }
        #expect(client.failures[2] == .cancelled && client.state.questions.pending.isEmpty)
        #expect(client.takeKinds() == [.call])
        let reserved = client.state.questions.table.reserve()
        client.transition { state, actions in state.giveUp(reserved, givenUp, &actions) }
        #expect(throws: CancellationError.self) { try client.checkReserved(reserved) }
        #expect(client.state.questions.table.count == 1)
    }

    @Test("A ticket of an earlier use of its slot changes nothing")
    func staleTicket() throws {
        let (client, server) = try StateSide.pair()
        let ticket = try client.call(1)
        try server.receive(client.takeFrames())
        try server.answer(try #require(server.start()))
        try client.receive(server.takeFrames())
        try client.call(2)
        client.transition { state, actions in state.giveUp(ticket, givenUp, &actions) }
        #expect(client.failures.isEmpty && client.takeKinds() == [.call])
    }

    @Test("A Drop before or after its Return frees the answer", arguments: [true, false])
    func dropInStateCrossing(isEarly: Bool) throws {
        let (client, server) = try StateSide.pair()
        try client.call(1)
        var frame = client.takeFrames()[0]
        frame.flags |= CallFlags.keepAnswer.rawValue
        try server.receive(frame)
        if isEarly { try server.receive(StateFrame(.drop, 0)) }
        try server.answer(try #require(server.start()))
        if !isEarly {
            // The answer is kept, so its number is in use.
            #expect(throws: ProtocolViolation.self) { try server.receive(frame) }
            try server.receive(StateFrame(.drop, 0))
        }
        frame.flags &= ~CallFlags.keepAnswer.rawValue
        // The name was interned by the first call.
        frame.bytes = [0, 0, 0, 2] + frame.bytes.dropFirst(4 + 1 + "take".utf8.count)
        #expect(throws: Never.self) { try server.receive(frame) }
    }

    @Test("A Drop or a Cancel of an unknown question is refused", arguments: [FrameKind.drop, .cancel])
    func unknownQuestion(kind: FrameKind) throws {
        let (_, server) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(kind, 4)) }
        #expect(error?.reason == .unknownName)
    }

    @Test("A Release that crosses a new mention is ignored, and the next one frees the object")
    func releaseAndMention() throws {
        let (client, server) = try StateSide.pair()
        let gift = StateObject()
        func give() throws -> OutboundMessage { try StateSide.message("takeObject") { try $0.encode(gift) } }
        _ = try client.call(1, give())
        try server.receive(client.takeFrames())
        let id = try answerNext(of: server)
        #expect(client.state.session.references.exports.count == 1 && server.state.session.references.importCount == 1)
        // The server releases it while the client mentions it again.
        _ = try client.call(2, give())
        #expect(server.release())
        try client.receive(server.takeFrames())
        #expect(client.state.session.references.exports.count == 1, "the object was mentioned since")
        try server.receive(client.takeFrames())
        #expect(server.state.session.references.importCount == 1)
        #expect(try answerNext(of: server) == id)
        #expect(server.release())
        try client.receive(server.takeFrames())
        #expect(client.done.contains("unexport") && client.state.session.references.exports.count == 0)
        // A stale id refers to nothing.
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.release, 2, 1, UInt64(id.slot), 0)) }
    }

    @Test("An object is not released if a new message mentions it while its proxy is freed")
    func mentionWhileDying() throws {
        let (client, server) = try StateSide.pair()
        let gift = StateObject()
        func give() throws -> OutboundMessage { try StateSide.message("takeObject") { try $0.encode(gift) } }
        _ = try client.call(1, give())
        _ = try client.call(2, give())
        let frames = client.takeFrames()
        try server.receive(frames[0])
        // The proxy is freed with the call and its references.
        let id = try answerNext(of: server)
        // The second message makes a new proxy before the end of the first is processed.
        try server.receive(frames[1])
        #expect(server.release())
        #expect(!server.takeKinds().contains(.release) && server.state.session.references.importCount == 1)
        #expect(try answerNext(of: server) == id)
        #expect(server.release())
        #expect(server.takeKinds().contains(.release) && server.state.session.references.importCount == 0)
    }

    /// Runs the next call.
    ///
    /// - Returns: The object of the peer that it mentioned; its proxy is freed.
    private func answerNext(of side: StateSide) throws -> ObjectID {
        let call = try #require(side.start())
        let id = try #require((side.references.first as? StateProxy)?.id)
        try side.answer(call)
        side.references = []
        return id
    }

    @Test("A proxy that is sent back is the object itself, and one of another connection is refused")
    func homeInStateCrossing() throws {
        let (client, server) = try StateSide.pair()
        let gift = StateObject()
        _ = try client.call(1, StateSide.message("takeObject") { try $0.encode(gift) })
        try server.receive(client.takeFrames())
        let call = try #require(server.start())
        let proxy = try #require(server.references.first as? StateProxy)
        try server.answer(call, StateSide.message("") { try $0.encode(proxy) })
        try client.receive(server.takeFrames())
        #expect(client.references.first === gift)
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.return, 0, 1, 7, 9, 9, 0)) }
    }
}
