import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: from the socket to shared memory")
struct StateSharingTests {
    /// The frame with which the initiator asks.
    private func asked() throws -> (client: StateSide, server: StateSide, frame: StateFrame) {
        let (client, server) = try StateSide.pair(busy: .onEachFrame)
        #expect(try client.receive(StateFrame(.ping, 1)) == .expectMemory)
        client.state.askForMemory()
        let frame = try #require(client.takeFrames().last)
        return (client, server, frame)
    }

    @Test("Both sides switch to memory, each after its own last frame on the socket")
    func wholeWayInStateSharing() throws {
        let (client, server, ask) = try asked()
        #expect(try server.receive(ask) == .makeMemory)
        server.state.memoryWasMade([3, 4, 5])
        server.host.hasSharedMemory = true
        let give = server.takeFrames()
        #expect(give.map(\.form) == [.withDescriptors] && give[0].descriptors == [3, 4, 5])
        #expect(try client.receive(give[0]) == .takeMemory)
        client.state.memoryWasTaken(.taken)
        let move = client.takeFrames()
        #expect(move.map(\.form) == [.lastOnSocket] && client.state.session.memory.sharing.phase == .agreed)
        #expect(try server.receive(move[0]) == .moveInput)
        let moveBack = server.takeFrames()
        #expect(moveBack.map(\.form) == [.lastOnSocket] && server.state.session.memory.sharing.phase == .done)
        #expect(try client.receive(moveBack[0]) == .moveInput)
        #expect(client.state.session.memory.sharing.phase == .done)
    }

    @Test("A side that cannot make memory, or does not trust the peer, stays on the socket", arguments: [true, false])
    func noneInStateSharing(isTrusted: Bool) throws {
        let (client, server, ask) = try asked()
        server.host.isPeerTrusted = isTrusted
        let step = try server.receive(ask)
        #expect(step == (isTrusted ? .makeMemory : .none))
        if isTrusted { server.state.memoryWasMade(nil) }
        let give = server.takeFrames()
        #expect(give.count == 1 && give[0].descriptors.isEmpty)
        #expect(try client.receive(give[0]) == .takeMemory)
        client.state.memoryWasTaken(.none(isOffered: false))
        #expect(client.takeKinds() == [] && client.state.session.memory.sharing.phase == .never)
    }

    @Test("Descriptors come with the step that gives memory, and with no other", arguments: 0...7 as ClosedRange<UInt8>)
    func descriptorsInStateSharing(of step: UInt8) throws {
        let (client, _, _) = try asked()
        var frame = StateFrame(.share, flags: step)
        frame.descriptors = [3, 4, 5]
        guard step != ShareStep.give.rawValue else {
            #expect(try client.receive(frame) == .takeMemory)
            return
        }
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(frame) }
        #expect(error?.reason == .malformed)
    }

    @Test("Memory that cannot be opened is declined, and its maker frees it")
    func decline() throws {
        let (client, server, ask) = try asked()
        try server.receive(ask)
        server.state.memoryWasMade([3])
        try client.receive(server.takeFrames())
        client.state.memoryWasTaken(.none(isOffered: true))
        let decline = client.takeFrames()
        #expect(decline.map(\.kind) == [.share])
        #expect(try server.receive(decline[0]) == .dropMemory)
        #expect(server.state.session.memory.sharing.phase == .never)
    }

    @Test("A side does not ask an untrusted peer, on slow traffic, or after its Goodbye")
    func doesNotAsk() throws {
        let (client, _) = try StateSide.pair(busy: .onEachFrame)
        client.host.isPeerTrusted = false
        #expect(try client.receive(StateFrame(.ping, 1)) == .none)
        #expect(client.state.session.memory.sharing.phase == .never)
        var slow = BusyTraffic.onEachFrame
        slow.nanoseconds = 10
        let (other, _) = try StateSide.pair(busy: slow)
        #expect(try other.receive(StateFrame(.ping, 1)) == .none)
        other.host.now += 5
        #expect(try other.receive(StateFrame(.ping, 1)) == .expectMemory)
        let (closing, _) = try StateSide.pair(busy: .onEachFrame)
        closing.state.session.writeGoodbye(.closed, "")
        #expect(try closing.receive(StateFrame(.ping, 1)) == .none)
    }

    @Test("Each step out of order is refused", arguments: [0, 1, 2, 3, 4] as [UInt8])
    func outOfOrder(flags: UInt8) throws {
        let (client, server) = try StateSide.pair(busy: .onEachFrame)
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.share, flags: flags)) }
        guard flags != ShareStep.ask.rawValue else { return }
        #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(.share, flags: flags)) }
    }

    @Test("Without the feature every step is refused", arguments: [0, 1, 2, 3] as [UInt8])
    func notAgreedInStateSharing(flags: UInt8) throws {
        let (_, server) = try StateSide.pair()
        let error = #expect(throws: ProtocolViolation.self) {
            try server.receive(StateFrame(.share, flags: flags))
        }
        #expect(error?.reason == .unknownName)
    }
}
