import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: large messages that take room in the window while they wait")
struct StateWindowTests {
    /// Streams of the client that the server has begun to read, each with one item of 3 MiB on its way.
    private struct Streams {
        let client: StateSide
        let server: StateSide
        let inboxes: [StreamInbox]
        let items: [StateFrame]

        init(_ count: Int) throws {
            var limits = ConnectionLimits()
            limits.waitingBytes = 1 << 20
            (client, server) = try StateSide.pair(limits: limits)
            _ = try client.call(1, StateSide.message(streams: (0..<count).map { _ in StreamSource() }))
            try server.receive(client.takeFrames())
            _ = try #require(server.start())
            inboxes = server.references.compactMap { ($0 as? StateStreamReader)?.inbox }
            for inbox in inboxes { #expect(server.begin(inbox)) }
            try client.receive(server.takeFrames())
            for outbox in client.started { _ = try client.send(1, of: outbox, bytes: 3 << 20) }
            items = client.takeFrames()
            #expect(items.count == count && items.allSatisfy { $0.fragments != nil })
            server.done = []
        }

        /// The streams that were ended.
        var ended: [Int] { inboxes.indices.filter { inboxes[$0].reading == .done } }

        func tick(_ count: Int = AnswerFlow.ticks + 2) {
            for _ in 0..<count {
                _ = server.transition { state, actions in state.answersTick(server.host, &actions) }
            }
        }
    }

    @Test("Room is given back only when it is needed, and only as much")
    func enough() throws {
        let streams = try Streams(3)
        let server = streams.server
        try server.receive(streams.items[0])
        try server.receive(streams.items[1])
        #expect(server.done == [])
        // Both and this one are more than the 8 MiB of the window.
        try server.receiveOpener(streams.items[2])
        #expect(server.done == ["discard"])
        #expect(streams.ended == [])
    }

    @Test("If too much would be kept, messages wait, and a stream is ended only if somebody waits for the blocked one")
    func blocked() throws {
        let streams = try Streams(5)
        let server = streams.server
        for item in streams.items[..<3] { try server.receive(item) }
        #expect(server.done == ["discard"])
        // The first one is kept, which is more than the limit allows for the second one.
        try server.receiveOpener(streams.items[3])
        #expect(server.done == ["discard", "start timer"])
        streams.tick()
        #expect(streams.ended == [])
        let call = BlockingCall()
        #expect(server.transition { state, _ in state.session.streams.hold(.thread(call), for: streams.inboxes[3]) })
        streams.tick()
        #expect(streams.ended == [1])
        if case .failed(let error)? = streams.inboxes[1].end {
            #expect((error as? ConnectionError)?.code == .overloaded)
        } else {
            Issue.record("it has no error")
        }
        try server.receive(fragmentsOf: server.lastOpener, streams.items[3].fragments)
        #expect(streams.inboxes[3].waiter == nil)
        #expect(streams.ended == [1])
    }

    @Test("Large messages that were read are not remembered")
    func forgotten() throws {
        let (client, server) = try StateSide.pair()
        let text = String(repeating: "x", count: 100_000)
        var most = 0
        for waiter in 1...200 {
            _ = try client.call(waiter, StateSide.message("take") { try $0.encode(text) })
            try server.receive(client.takeFrames())
            let call = try #require(server.start())
            #expect(call.body.takeLargeBytes() > 0)
            try server.answer(call)
            try client.receive(server.takeFrames())
            client.endIteration()
            most = max(most, server.state.session.large.laidAside.count)
        }
        #expect(most <= 32)
    }

    @Test("Calls to one object that wait for their turn are not kept for others to the same object")
    func sameObjectInStateWindow() throws {
        let (client, server) = try StateSide.pair()
        let text = String(repeating: "x", count: 5 << 20)
        // The object is busy with the first one.
        try client.call(0)
        for waiter in 1...2 { _ = try client.call(waiter, StateSide.message("take") { try $0.encode(text) }) }
        let frames = client.takeFrames()
        try server.receive(frames[0])
        #expect(server.start() != nil)
        try server.receive(frames[1])
        try server.receiveOpener(frames[2])
        #expect(server.done == [])
        // A call to another object would have to wait for both.
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        _ = try client.call(3, StateSide.message("take", to: id) { try $0.encode(text) })
        try server.receiveOpener(try #require(client.takeFrames().first))
        #expect(server.done == ["discard"])
    }
}
