import Testing

@testable import DistantObjects

@Suite("The state: the memory of messages that wait")
struct StateWaitingMemoryTests {
    private static let size = 60_000

    /// Two sides, one of which has started a call to its root that is not answered.
    private static func pair(
        waitingBytes: Int, oneWays: Int = 64
    ) throws -> (client: StateSide, server: StateSide, first: InboundCall) {
        var limits = ConnectionLimits()
        (limits.waitingBytes, limits.runningCalls) = (waitingBytes, oneWays)
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(0)
        try server.receive(client.takeFrames())
        return (client, server, try #require(server.start()))
    }

    private static func message(bytes: Int = size) throws -> OutboundMessage {
        try StateSide.message { try $0.encode([UInt8](repeating: 1, count: bytes)) }
    }

    private static func offer(_ client: StateSide) throws -> Bool {
        let message = try message()
        client.messages.append(message)
        defer { client.collect() }
        guard case .written = client.state.offerOneWay(message, client.host, reportsLosses: false) else { return false }
        return true
    }

    /// A message in fragments with objects of the client.
    private static func large() throws -> OutboundMessage {
        try StateSide.message("takeObject") { message in
            for _ in 0..<10 { try message.encode(StateObject()) }
            try message.encode([UInt8](repeating: 1, count: 100_000))
        }
    }

    private func code(_ call: InboundCall) -> ConnectionError.Code? { (call.failure as? ConnectionError)?.code }

    @Test("One-way messages that come when there is no room have calls refused that wait, and all run in order")
    func oneWaysBeforeCalls() throws {
        let (client, server, first) = try Self.pair(waitingBytes: 1 << 20)
        for waiter in 1...10 { _ = try client.call(waiter, Self.message()) }
        for _ in 0..<40 { #expect(try Self.offer(client)) }
        let frames = client.takeFrames()
        try server.receive(Array(frames[..<10]))
        #expect(server.state.serving.waiting.calls >= 10 * Self.size)
        try server.receive(Array(frames[10...]))
        #expect(server.state.serving.waiting.calls == 0)
        #expect(server.state.serving.waiting.bytes < 40 * ProtocolLimits.wholeFrame)
        try server.answer(first)
        var numbers: [UInt64] = []
        while let call = server.start() {
            numbers.append(call.number)
            if call.question == nil {
                #expect(code(call) == nil && call.body.bytes?.0.bytes.count ?? 0 > Self.size)
                server.endOneWay(call)
            } else {
                #expect(code(call) == .overloaded && call.body.bytes == nil)
                try server.answer(call)
            }
        }
        #expect(numbers.count == 50 && numbers == numbers.sorted())
        #expect(server.state.serving.waiting.bytes == 0 && server.state.serving.waiting.oneWayCount == 0)
    }

    @Test("As few one-way messages are granted as there is room for, and all run in order")
    func creditInStateWaitingMemory() throws {
        let limit = 2 << 20
        let (client, server, first) = try Self.pair(waitingBytes: limit)
        var (sent, ended) = (0, 0)
        func exchange() throws {
            server.endIteration()
            try client.receive(server.takeFrames())
            while sent < 400, try Self.offer(client) { sent += 1 }
            try server.receive(client.takeFrames())
        }
        try exchange()
        // What the other side may send at first is not known to be too much yet.
        #expect(sent == 64)
        try server.answer(first)
        var number: UInt64 = 0
        while let call = server.start() {
            #expect(call.question == nil && call.number > number)
            number = call.number
            server.endOneWay(call)
            ended += 1
            try exchange()
            guard ended >= 64 else { continue }
            let left = 64 - client.state.session.credit.oneWaysUnderWay(client.state.session.handshake.grants)
            let room = max(limit, ProtocolLimits.fewestOneWays * ProtocolLimits.wholeFrame)
            #expect(server.state.serving.waiting.bytes + left * ProtocolLimits.wholeFrame <= room)
        }
        #expect(sent == 400 && ended == 400)
    }

    @Test("Some one-way messages are granted however many bytes wait, and none is lost")
    func noRoomAtAll() throws {
        let (client, server, first) = try Self.pair(waitingBytes: 0)
        for _ in 0..<64 { #expect(try Self.offer(client)) }
        #expect(try !Self.offer(client))
        try server.receive(client.takeFrames())
        try server.answer(first)
        var started = 0
        while let call = server.start() {
            started += 1
            server.endOneWay(call)
            server.endIteration()
            try client.receive(server.takeFrames())
            if started < 200 { _ = try Self.offer(client) }
            try server.receive(client.takeFrames())
        }
        #expect(started >= 200)
    }

    @Test("The fragments of a call that is refused for its tables are dropped, and their room is given back")
    func fragmentsInStateWaitingMemory() throws {
        let (client, server, first) = try Self.pair(waitingBytes: 0)
        _ = try client.call(1, Self.message())
        try server.receive(client.takeFrames())
        _ = try client.call(2, Self.large())
        let opener = try #require(client.takeFrames().first)
        try server.receiveOpener(opener)
        #expect(server.done == ["release"])
        // It is refused while the other one waits.
        let refused = try #require(server.start())
        #expect(code(refused) == .overloaded && refused.tables == nil)
        try server.answer(refused)
        server.done = []
        try server.receive(fragmentsOf: server.lastOpener, opener.fragments)
        #expect(server.done == ["discard"])
        try server.answer(first)
        let other = try #require(server.start())
        #expect(code(other) == nil && other.number < refused.number)
        #expect(server.start() == nil && server.state.serving.waiting.bytes == 0)
    }

    @Test("A call whose fragments have not come makes room for one-way messages, too, and holds nothing up")
    func unfinishedFragments() throws {
        let (client, server, first) = try Self.pair(waitingBytes: 4_096)
        _ = try client.call(1, Self.large())
        let opener = try #require(client.takeFrames().first)
        try server.receiveOpener(opener)
        #expect(server.state.serving.waiting.calls > 0)
        #expect(try Self.offer(client))
        try server.receive(client.takeFrames())
        #expect(server.state.serving.waiting.calls == 0)
        try server.answer(first)
        let call = try #require(server.start())
        #expect(code(call) == .overloaded)
        try server.answer(call)
        let oneWay = try #require(server.start())
        #expect(oneWay.question == nil)
        server.done = []
        try server.receive(fragmentsOf: server.lastOpener, opener.fragments)
        #expect(server.done == ["discard"])
    }

    @Test("A refused call fails the messages to its answer, and calls that only it needed are cancelled")
    func promisesInStateWaitingMemory() throws {
        let (client, server, first) = try Self.pair(waitingBytes: 0)
        _ = try client.call(1, Self.message())
        let message = try StateSide.message("take") { try $0.encode([UInt8](repeating: 1, count: 100)) }
        let promise = try client.promise(message)
        try server.receive(client.takeFrames())
        let refused = try #require(server.start())
        #expect(code(refused) == .overloaded)
        try server.answer(refused, keeping: .failed(try #require(refused.failure)))
        _ = try client.call(2, StateSide.message(toPromise: promise))
        try server.answer(first)
        let other = try #require(server.start())
        try server.answer(other)
        try server.receive(client.takeFrames())
        let dependent = try #require(server.start())
        #expect(code(dependent) == .overloaded)
    }
}
