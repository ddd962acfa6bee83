import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: calls of methods that serve calls")
struct StateNestedTests {
    /// A client that has no credit left, and a server that has asked so many questions.
    private func sides(asking questions: Int) throws -> (client: StateSide, server: StateSide) {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        limits.runningCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        _ = client.takeFrames()
        try ask(questions, client, server)
        return (client, server)
    }

    /// Has the server ask questions, which the client starts.
    private func ask(_ questions: Int, _ client: StateSide, _ server: StateSide) throws {
        for question in 0..<questions {
            try server.call(question)
            try client.receive(server.takeFrames())
            if let call = client.start() { client.state.firstJobReturned(call) }
            try server.receive(client.takeFrames())
        }
    }

    /// The names of the calls that a side has written.
    private func names(_ side: StateSide) -> [String] {
        side.takeFrames().filter { $0.kind == .call }.map { frame in
            ["first", "second", "third", "fourth", "other"].first { name in
                String(decoding: frame.bytes, as: UTF8.self).contains(name)
            } ?? "?"
        }
    }

    private func message(_ name: String) throws -> OutboundMessage { try StateSide.message(name) { try $0.encode(1) } }

    @Test("They need no credit, and pass promises of others, as often as the peer has asked at a time")
    func withoutCreditInStateNested() throws {
        let (client, server) = try sides(asking: 1)
        let promise = try client.promise(message("other"))
        client.host.isServing = true
        _ = try client.call(2, message("first"))
        _ = try client.call(3, message("second"))
        #expect(names(client) == ["first"] && client.state.session.credit.calls == -1)
        client.endIteration()
        #expect(names(client) == [])
        // Now the peer has a second question.
        try server.call(7)
        try client.receive(server.takeFrames())
        let isSettled = client.state.isSettled
        #expect(!isSettled)
        client.endIteration()
        #expect(names(client) == ["second"] && client.state.session.credit.calls == -2)
        withExtendedLifetime((server, promise)) {}
    }

    @Test("They stay in their order, also behind promises of their own")
    func orderInStateNested() throws {
        let (client, server) = try sides(asking: 1)
        client.host.isServing = true
        let promises = [try client.promise(message("first")), try client.promise(message("second"))]
        _ = try client.call(2, message("third"))
        #expect(try !client.offer())
        client.host.isServing = false
        _ = try client.call(3, message("other"))
        #expect(names(client) == ["first"])
        try client.receive(StateFrame(.credit, 2))
        client.endIteration()
        #expect(names(client) == ["second", "third"])
        try client.receive(StateFrame(.credit, 2))
        client.endIteration()
        #expect(names(client) == ["other"])
        withExtendedLifetime((server, promises)) {}
    }

    @Test("What others have promised goes before a call that names it, and what they have sent behind it stays there")
    func namedInStateNested() throws {
        let (client, server) = try sides(asking: 3)
        let first = try client.promise(message("first"))
        let between = try client.promise(message("other"))
        let second = try client.promise(StateSide.message("second", toPromise: first))
        _ = try client.call(2, message("fourth"))
        client.host.isServing = true
        _ = try client.call(3, StateSide.message("third") { try $0.encode(second) })
        #expect(names(client) == [])
        client.endIteration()
        #expect(names(client) == ["first", "second", "third"])
        try client.receive(StateFrame(.credit, 4))
        client.endIteration()
        #expect(names(client) == ["other"])
        try client.receive(StateFrame(.credit, 1))
        client.endIteration()
        #expect(names(client) == ["fourth"] && client.state.questions.pending.isEmpty)
        withExtendedLifetime((server, first, between, second)) {}
    }

    @Test("One-way messages pass promises of others, too, but need credit")
    func oneWayInStateNested() throws {
        let (client, server) = try sides(asking: 1)
        let promise = try client.promise(message("other"))
        #expect(try !client.offer())
        client.host.isServing = true
        #expect(try client.offer())
        #expect(try !client.offer())
        #expect(client.state.session.credit.oneWays == 0)
        withExtendedLifetime((server, promise)) {}
    }

    @Test("A peer that knows no promises gets no call without credit")
    func notAgreedInStateNested() throws {
        let (client, server) = try sides(asking: 1)
        client.state.session.handshake.grants.features.remove(.promises)
        client.host.isServing = true
        _ = try client.call(2, message("first"))
        client.endIteration()
        #expect(names(client) == [] && client.state.session.credit.calls == 0)
        withExtendedLifetime(server) {}
    }
}
