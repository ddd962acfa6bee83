import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: handshake, and what frames may carry")
struct StateHandshakeTests {
    @Test("After both Hellos both sides are open, and know each other's grants")
    func greeting() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 12
        limits.runningCalls = 7
        let (client, server) = try StateSide.pair(limits: limits)
        #expect(client.state.phase == .open && server.state.phase == .open)
        #expect(client.state.session.credit.calls == 12 && server.state.session.credit.calls == 12)
        #expect(client.state.session.credit.oneWays == 7)
        #expect(client.state.session.entered == 1 && client.state.sent == 1)
    }

    @Test("A refused peer gets a Goodbye, and its early calls are released")
    func refusalInStateHandshake() throws {
        let client = StateSide(isInitiator: true)
        let server = StateSide(isInitiator: false)
        client.state.session.writeHello(isInitiator: true, sharesMemory: false)
        try server.receive(client.takeFrames())
        #expect(server.done == ["decide on \(ConnectionProgram.ofThisProcess)"])
        server.transition { state, actions in state.refusePeer("no", &actions) }
        let frames = server.takeFrames()
        #expect(frames.map(\.kind) == [.goodbye] && frames[0].form == .last)
        try client.receive(frames)
        #expect(client.state.session.life.peerGoodbye?.reason == .refused)
        #expect(client.state.session.isEnded == false, "the handshake is not over")
    }

    @Test(
        "An invalid Hello is refused",
        arguments: ["magic", "version", "both greet", "no calls", "flags", "second"])
    func wrongHello(what: String) throws {
        let client = StateSide(isInitiator: true)
        let server = StateSide(isInitiator: what == "both greet")
        client.state.session.writeHello(isInitiator: true, sharesMemory: false)
        var frame = client.takeFrames()[0]
        switch what {
        case "magic": frame.bytes[0] = 0
        case "version": frame.bytes[4] = 2
        case "no calls": frame.bytes.replaceSubrange(7..<9, with: [0])
        case "flags": frame.flags = 1
        case "second": try server.receive(frame)
        default: break
        }
        #expect(throws: ProtocolViolation.self) { try server.receive(frame) }
        // The Goodbye names the rule, and no frame follows it.
        #expect(server.takeKinds() == [.goodbye] && server.state.session.life.violation != nil)
    }

    static let kinds: [FrameKind] = [
        .hello, .call, .return, .cancel, .drop, .release, .credit, .item, .end, .barrier, .ping, .pong, .failed,
        .provide, .accept, .goodbye, .share,
    ]

    @Test("Nothing but Hello and Goodbye comes before Hello", arguments: kinds)
    func beforeHello(kind: FrameKind) {
        let server = StateSide(isInitiator: false)
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(kind, 0)) }
        let isAllowed = kind == .hello || kind == .goodbye
        #expect((error?.reason == .outOfStep) == !isAllowed)
    }

    @Test(
        "Only Call, Return, Item and End come in fragments",
        arguments: kinds.filter { ![.call, .return, .item, .end].contains($0) })
    func fragmentsInStateHandshake(kind: FrameKind) throws {
        let (_, server) = try StateSide.pair()
        var frame = StateFrame(kind, 0)
        frame.fragments = [1, 2, 3]
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(frame) }
        #expect(error?.message.contains("cannot come in fragments") == true)
    }

    @Test("Kinds without flags are refused with a flag", arguments: kinds)
    func flags(kind: FrameKind) throws {
        let (_, server) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(kind, 1, flags: 0x40)) }
        #expect(error?.reason == .malformed)
    }

    @Test("Only Share carries descriptors", arguments: kinds.filter { $0 != .share })
    func descriptorsInStateHandshake(kind: FrameKind) throws {
        let (_, server) = try StateSide.pair()
        var frame = StateFrame(kind, 0)
        frame.descriptors = [-1]
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(frame) }
        #expect(error?.reason == .malformed)
    }

    @Test(
        "Kinds of features that were not agreed on are refused", arguments: [FrameKind.provide, .accept])
    func unknown(kind: FrameKind) throws {
        let (_, server) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(kind, 0)) }
        #expect(error?.reason == .unknownName)
    }

    @Test("A ping is answered at once, and a barrier after the calls before it were handled")
    func barrier() throws {
        let (client, server) = try StateSide.pair()
        client.state.send(.ping)
        try client.call(1)
        client.state.send(.barrier)
        try server.receive(client.takeFrames())
        #expect(server.takeKinds() == [.pong])
        let call = try #require(server.start())
        #expect(server.takeKinds() == [])
        try server.answer(call)
        #expect(Set(server.takeKinds()) == [.return, .pong])
    }

    @Test("A Pong without a ping is refused")
    func pong() throws {
        let (client, _) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.pong, 3)) }
        #expect(error?.reason == .outOfStep)
    }

    @Test("Pings above the limit wait at their sender, and one is sent for each answer")
    func manyPings() throws {
        let (client, server) = try StateSide.pair()
        for _ in 0..<ProtocolLimits.barriers + 2 { client.state.send(.ping) }
        let pings = client.takeFrames()
        #expect(pings.count == ProtocolLimits.barriers)
        try server.receive(pings)
        try client.receive(server.takeFrames())
        #expect(client.takeKinds() == [.ping, .ping])
    }

    @Test("A peer that sends too many pings without reading the answers is refused")
    func unwrittenPongs() throws {
        let (_, server) = try StateSide.pair()
        server.host.writtenFrames = 0
        for token in 0..<ProtocolLimits.unwrittenPongs { try server.receive(StateFrame(.ping, UInt64(token))) }
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(.ping, 0)) }
        #expect(error?.reason == .overLimit)
    }
}
