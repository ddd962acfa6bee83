import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: answers that the peer does not read")
struct StateUnreadTests {
    @Test("While answers are unread calls wait, then are refused, and later start again")
    func unreadAnswers() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 2_048
        let (client, server) = try StateSide.pair(limits: limits)
        let text = String(repeating: "x", count: 3_000)
        try client.call(1)
        try server.receive(client.takeFrames())
        server.host.unsentAnswers = 3_000
        try server.answer(try #require(server.start()), StateSide.message("") { try $0.encode(text) })
        try client.call(2)
        try server.receive(client.takeFrames())
        #expect(server.start() == nil)
        #expect(server.done == ["await answers 1024", "start timer"])
        server.tick()
        #expect(server.start()?.obstacle == .answers)
        server.host.unsentAnswers = 0
        try client.call(3)
        try server.receive(client.takeFrames())
        server.running.first.map { call in _ = try? server.answer(call) }
        #expect(server.start()?.obstacle == Obstacle.none)
    }

    @Test("Calls that wait start again when half of the limit is unread, not before")
    func halfInStateUnread() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 2_048
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        try server.receive(client.takeFrames())
        let text = String(repeating: "x", count: 3_000)
        try server.answer(try #require(server.start()), StateSide.message("") { try $0.encode(text) })
        try client.call(2)
        try server.receive(client.takeFrames())
        for unsent in [2_049, 2_048, 1_025] {
            server.host.unsentAnswers = unsent
            server.endIteration()
            #expect(server.start() == nil, "\(unsent)")
        }
        server.host.unsentAnswers = 1_024
        server.endIteration()
        #expect(server.start()?.obstacle == Obstacle.none)
    }

    @Test("A large result is replaced by an error when too many answers are unread")
    func tooManyAnswers() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 1_024
        let (client, server) = try StateSide.pair(limits: limits)
        let text = String(repeating: "x", count: 50_000)
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        try client.call(1)
        try client.call(2, to: id)
        try server.receive(client.takeFrames())
        let (first, second) = (try #require(server.start()), try #require(server.start()))
        #expect(try server.answer(first, StateSide.message("") { try $0.encode(text) }) == .written)
        server.host.unsentAnswers = 50_000
        let large = try StateSide.message("") { try $0.encode(text) }
        #expect(try server.answer(second, large) == .tooMuch)
        #expect(try server.answer(second) == .written)
    }

    @Test("Credit for calls is held back while answers are unread, and given while calls are refused")
    func heldCallCredit() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 2_048
        limits.queuedCalls = 2
        let (client, server) = try StateSide.pair(limits: limits)
        for waiter in 1...4 { try client.call(waiter) }
        try server.receive(client.takeFrames())
        let text = String(repeating: "x", count: 3_000)
        server.host.unsentAnswers = 3_000
        try server.answer(try #require(server.start()), StateSide.message("") { try $0.encode(text) })
        try deliverAnswers(from: server, to: client)
        // The other calls wait at the client, for credit that only a read answer brings.
        #expect(client.state.questions.pending.count == 1)
        try server.receive(client.takeFrames())
        server.tick()
        while let call = server.start() {
            #expect(call.obstacle == .answers)
            try server.answer(call)
        }
        try deliverAnswers(from: server, to: client)
        #expect(client.state.questions.pending.count == 0)
        try server.receive(client.takeFrames())
        #expect(server.start()?.obstacle == .answers)
    }

    @Test("Refusals that the peer does not read have a bound")
    func unreadRefusals() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 2_048
        limits.queuedCalls = 2
        let (client, server) = try StateSide.pair(limits: limits)
        let text = String(repeating: "x", count: 3_000)
        try client.call(0)
        try server.receive(client.takeFrames())
        server.host.unsentAnswers = 3_000
        try server.answer(try #require(server.start()), StateSide.message("") { try $0.encode(text) })
        try deliverAnswers(from: server, to: client)
        var refused = 0
        for waiter in 1...1_000 {
            try client.call(waiter)
            try server.receive(client.takeFrames())
            if waiter == 1 {
                #expect(server.start() == nil)
                server.tick()
            }
            while let call = server.start() {
                refused += 1
                try server.answer(call)
            }
            // The credit of these frames is used, although no answer is read.
            try deliverAnswers(from: server, to: client)
        }
        #expect((10..<300).contains(refused))
        #expect(client.state.questions.pending.count > 600)
        server.host.unsentAnswers = 0
        server.endIteration()
        try deliverAnswers(from: server, to: client)
        try server.receive(client.takeFrames())
        #expect(server.start()?.obstacle == Obstacle.none)
    }

    @Test("Reports of failed one-way messages that the peer does not read have a bound")
    func unreadReports() throws {
        var limits = ConnectionLimits()
        limits.unreadAnswers = 2_048
        limits.runningCalls = 2
        let (client, server) = try StateSide.pair(limits: limits)
        server.host.unsentAnswers = 3_000
        let failure = ConnectionError(.noSuchMessage, String(repeating: "x", count: 1_000))
        var sent = 0
        while sent < 1_000, try client.offer() {
            sent += 1
            try server.receive(client.takeFrames())
            server.endOneWay(try #require(server.start()), failure)
            try deliverAnswers(from: server, to: client)
        }
        // A report has at most 256 bytes of text.
        #expect((8..<20).contains(sent))
        #expect(server.done.contains("await answers 1024"))
        server.host.unsentAnswers = 0
        server.endIteration()
        try deliverAnswers(from: server, to: client)
        #expect(try client.offer())
    }

    /// The other side gets what was written, and writes what waits for credit.
    private func deliverAnswers(from server: StateSide, to client: StateSide) throws {
        try client.receive(server.takeFrames())
        client.endIteration()
    }
}

extension StateSide {
    /// Lets all the time pass for which calls may wait for the peer to read.
    fileprivate func tick() {
        for _ in 0...AnswerFlow.ticks + 1 {
            _ = transition { state, actions in state.answersTick(host, &actions) }
        }
    }
}
