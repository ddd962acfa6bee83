import KeyedArchive
import Testing

@testable import DistantObjects
@_spi(Queues) @testable import PortTransport

@Suite("The state: streams")
struct StreamStateTests {
    private let source = StreamSource()

    /// The two sides of a stream: the client produces it, and the server has the call with it.
    private func open(
        limits: ConnectionLimits = ConnectionLimits()
    ) throws -> (client: StateSide, server: StateSide, inbox: StreamInbox) {
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1, streams: source)
        try server.receive(client.takeFrames())
        return (client, server, try server.takeStream())
    }

    /// As `open`, and the reader has asked for items.
    private func begun() throws -> (client: StateSide, server: StateSide, inbox: StreamInbox, outbox: StreamOutbox) {
        let (client, server, inbox) = try open()
        #expect(server.begin(inbox))
        try client.receive(server.takeFrames())
        return (client, server, inbox, try #require(client.started.first))
    }

    @Test("A stream starts with the first credit, and its number is free when both sides have sent their End")
    func wholeStream() throws {
        let (client, server, inbox) = try open()
        #expect(client.started.isEmpty && client.state.session.streams.outgoingCount == 1)
        #expect(server.begin(inbox) && !server.begin(inbox))
        let frames = server.takeFrames()
        #expect(frames.map(\.kind) == [.credit, .credit] && frames.allSatisfy { $0.flags == 3 })
        try client.receive(frames)
        let outbox = try #require(client.started.first)
        #expect(try client.send(3, of: outbox).allowance != nil)
        #expect(outbox.items == ReadAhead.items.least - 3)
        try client.end(outbox)
        let sent = client.takeFrames()
        #expect(sent.map(\.kind) == [.item, .end])
        #expect(client.state.session.streams.outgoingCount == 1)
        try server.receive(sent)
        let answer = server.takeFrames()
        #expect(answer.map(\.kind) == [.end] && answer[0].flags == 4)
        try client.receive(answer)
        #expect(client.state.session.streams.isEmpty && server.state.session.streams.isEmpty)
        let items = server.next(inbox).items
        #expect(items?.count == 3)
        #expect(server.next(inbox, after: items).isEnd && inbox.isOver)
        #expect(server.takeKinds() == [])
    }

    @Test("Nothing is assigned until a message is written, and a second mention is a stream that was used")
    func claim() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        try client.call(2, streams: source)
        #expect(client.state.session.streams.isEmpty && client.state.questions.pending.count == 1)
        #expect(source.claim())
        source.giveBack()
        try server.receive(client.takeFrames())
        try server.answer(try #require(server.start()))
        try client.receive(server.takeFrames())
        client.endIteration()
        #expect(client.state.session.streams.outgoingCount == 1)
        #expect(!source.claim())
        try server.receive(client.takeFrames())
        try server.answer(try #require(server.start()))
        try client.receive(server.takeFrames())
        try client.call(3, streams: source)
        try server.receive(client.takeFrames())
        _ = try #require(server.start())
        #expect((server.references.last as? DeadStreamObject)?.reason == .used)
        #expect(client.state.session.streams.outgoingCount == 1)
    }

    @Test("A reader that stops ends a stream that has not started at once, and its sequence is released")
    func stopUnread() throws {
        let (client, server, inbox) = try open()
        server.stop(inbox)
        try client.receive(server.takeFrames())
        #expect(client.done == ["dispose"] && client.state.session.streams.isEmpty)
        let frames = client.takeFrames()
        #expect(frames.map(\.kind) == [.end] && frames[0].flags == 2)
        try server.receive(frames)
        #expect(server.state.session.streams.isEmpty && server.takeKinds() == [])
    }

    @Test("A reader that stops cancels the task, whose end frees the number")
    func stopRunning() throws {
        let (client, server, inbox, outbox) = try begun()
        _ = try client.send(2, of: outbox)
        server.stop(inbox)
        try client.receive(server.takeFrames())
        #expect(client.done.last == "cancel stream 0" && client.state.session.streams.outgoingCount == 1)
        #expect(try client.send(1, of: outbox).isStopped)
        // The items have crossed the reader's End.
        try server.receive(client.takeFrames())
        #expect(inbox.frames.isEmpty && server.takeKinds() == [])
        try client.end(outbox)
        #expect(client.state.session.streams.isEmpty)
        try server.receive(client.takeFrames())
        #expect(server.state.session.streams.isEmpty)
    }

    enum TooLate: CaseIterable {
        case reading, ended, creditOfNothing
    }

    @Test("A stream that was given credit is not taken back", arguments: TooLate.allCases)
    func passedBackTooLate(_ state: TooLate) throws {
        let (client, server, inbox) = try open()
        if state == .creditOfNothing {
            try client.receive(StateFrame(.credit, 0, 0, 0, flags: 3))
            #expect(client.started.isEmpty)
        } else {
            #expect(server.begin(inbox))
            try client.receive(server.takeFrames())
            if state == .ended { try client.end(try #require(client.started.first)) }
        }
        var frame = StateFrame(.call)
        frame.bytes = RawPeer.call(references: [1, 5, 0])
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(frame) }
        #expect(error?.reason == .outOfStep)
    }

    @Test("Ends that cross are harmless")
    func crossingEnds() throws {
        let (client, server, inbox, outbox) = try begun()
        try client.end(outbox)
        server.stop(inbox)
        let (fromClient, fromServer) = (client.takeFrames(), server.takeFrames())
        try client.receive(fromServer)
        try server.receive(fromClient)
        #expect(client.state.session.streams.isEmpty && server.state.session.streams.isEmpty)
        #expect(client.takeKinds() == [] && server.takeKinds() == [])
    }

    @Test("Credit that crosses the producer's End is ignored")
    func crossingCredit() throws {
        let (client, server, inbox, outbox) = try begun()
        _ = try client.send(10, of: outbox)
        try server.receive(client.takeFrames())
        let items = server.next(inbox).items
        try client.end(outbox)
        #expect(server.next(inbox, after: items).isNothing)
        let credit = server.takeFrames()
        #expect(credit.map(\.kind) == [.credit])
        try client.receive(credit)
        try server.receive(client.takeFrames())
        try client.receive(server.takeFrames())
        #expect(client.state.session.streams.isEmpty && server.state.session.streams.isEmpty)
    }

    @Test("A slow reader returns the credit of each frame, and more items than granted are refused")
    func creditInStreamState() throws {
        let (client, server, inbox, outbox) = try begun()
        let half = ReadAhead.items.least / 2
        #expect(outbox.allowance == half)
        #expect(try client.send(half - 1, of: outbox).allowance == half)
        #expect(try client.send(1, of: outbox).allowance == half)
        #expect(try client.send(half, of: outbox).allowance == 0)
        try server.receive(client.takeFrames())
        let first = try #require(server.next(inbox).items)
        let second = try #require(server.next(inbox, after: first, at: 10_000_000).items)
        let third = try #require(server.next(inbox, after: second, at: 20_000_000).items)
        let credit = server.takeFrames()
        #expect(credit.map(\.kind) == [.credit, .credit])
        try client.receive(credit)
        #expect(outbox.allowance == half && third.count == half)
        _ = try client.send(half + 1, of: outbox)
        let frames = client.takeFrames()
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(frames) }
        #expect(error?.reason == .overLimit)
    }

    @Test("An item larger than the credit goes through, and the next one waits until it is consumed")
    func largeItem() throws {
        let (client, server, inbox, outbox) = try begun()
        #expect(try client.send(1, of: outbox, bytes: 1 << 20).allowance == 0)
        let frames = client.takeFrames()
        #expect(frames.map(\.form) == [.withFragments])
        try server.receive(frames)
        let items = try #require(server.next(inbox).items)
        #expect(items.body.takeLargeBytes() > 1 << 20)
        #expect(server.next(inbox, after: items).isNothing)
        try client.receive(server.takeFrames())
        #expect(outbox.allowance > 0)
    }

    @Test("Items behind one in fragments wait for it, and the End as well")
    func fragmentsInStreamState() throws {
        let (client, server, inbox, outbox) = try begun()
        _ = try client.send(1, of: outbox, bytes: 100_000)
        _ = try client.send(1, of: outbox)
        try client.end(outbox)
        var frames = client.takeFrames()
        let fragments = frames[0].fragments
        frames[0].fragments = []
        // The opener arrives without its continuations.
        let opener = frames[0]
        try server.receiveOpener(opener)
        try server.receive(Array(frames.dropFirst()))
        #expect(server.next(inbox).isNothing && inbox.frames.count == 2)
        try server.receive(fragmentsOf: server.lastOpener, fragments)
        let first = try #require(server.next(inbox).items)
        let second = try #require(server.next(inbox, after: first).items)
        #expect(server.next(inbox, after: second).isEnd)
    }

    @Test("A stream that was not read can be passed back, and becomes the sequence again")
    func passBackInStreamState() throws {
        let (client, server, inbox) = try open()
        let reader = try #require(server.references.last)
        try server.call(1, streams: reader)
        #expect(!server.begin(inbox))
        try client.receive(server.takeFrames())
        _ = try #require(client.start())
        #expect(client.references.last === source && source.claim() && client.state.session.streams.isEmpty)
        try server.receive(client.takeFrames())
        #expect(server.state.session.streams.isEmpty)
    }

    @Test("A stream that was read is not passed back")
    func passBackRead() throws {
        let (client, server, inbox) = try open()
        #expect(server.begin(inbox))
        let reader = try #require(server.references.last)
        try server.call(1, streams: reader)
        try client.receive(server.takeFrames())
        _ = try #require(client.start())
        #expect((client.references.last as? DeadStreamObject)?.reason == .used)
    }

    @Test("A full channel keeps items back, and they are written when there is room")
    func roomInStreamState() throws {
        let (client, _, _, outbox) = try begun()
        client.host.isQueueFull = true
        #expect(try client.send(1, of: outbox).isNoRoom)
        client.resumeStreams()
        #expect(client.done == ["start 0"])
        client.host.isQueueFull = false
        client.resumeStreams()
        #expect(client.done == ["start 0", "room 0"] && !client.state.session.streams.isAwaitingRoom)
    }

    @Test("More streams than allowed are not sent, and a queued one that finds no number is a dead stream")
    func limitInStreamState() throws {
        var limits = ConnectionLimits()
        limits.streams = 1
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        try client.call(2, streams: source)
        let other = StreamSource()
        try client.call(3, streams: other)
        for _ in 0..<2 {
            try server.receive(client.takeFrames())
            try server.answer(try #require(server.start()))
            try client.receive(server.takeFrames())
            client.endIteration()
        }
        try server.receive(client.takeFrames())
        _ = try #require(server.start())
        #expect((server.references.last as? DeadStreamObject)?.reason == .overloaded && other.claim())
        #expect(throws: ConnectionError.self) { try client.call(4, streams: StreamSource()) }
    }

    @Test("A close ends streams in both directions before the Goodbye")
    func closeInStreamState() throws {
        let (client, server, inbox, outbox) = try begun()
        try server.answer(try #require(server.running.first))
        try client.receive(server.takeFrames())
        client.beginClosing()
        #expect(client.sayGoodbyeIfIdle())
        let frames = client.takeFrames()
        #expect(frames.map(\.kind) == [.end, .goodbye] && frames[0].flags == 2)
        #expect(client.done.contains("cancel stream 0") && outbox.life.hasEnded)
        try server.receive(frames)
        let next = server.next(inbox)
        guard case .end(.failed(let error)) = next else { throw error("\(next)") }
        #expect((error as? ConnectionError)?.code == .closed)
    }

    @Test("When the connection is lost, what has arrived is still read, and more may have been sent")
    func lostInStreamState() throws {
        let (client, server, inbox, outbox) = try begun()
        _ = try client.send(2, of: outbox)
        _ = try client.send(1, of: outbox, bytes: 100_000)
        let frames = client.takeFrames()
        try server.receive(frames[0])
        try server.receiveOpener(frames[1])
        _ = server.transition { state, actions in
            state.endCalls(server.host, "server", &actions, because: .lost(nil))
        }
        let items = server.next(inbox).items
        #expect(items?.count == 2)
        let next = server.next(inbox, after: items)
        guard case .end(.failed(let failure)) = next else { throw error("\(next)") }
        #expect((failure as? ConnectionError)?.code == .outcomeUnknown && "\(failure)".contains("more items"))
        _ = client.transition { state, actions in
            state.endCalls(client.host, "client", &actions, because: .lost(nil))
        }
        #expect(client.done.last?.hasPrefix("fail") == true || client.done.contains("cancel stream 0"))
        #expect(try client.send(1, of: outbox).isStopped && client.state.session.streams.isEmpty)
    }

    @Test("A number is not used again before the reader's End can have been read")
    func reuseInStreamState() throws {
        let (_, server, inbox, _) = try begun()
        server.stop(inbox)
        _ = server.takeFrames()
        try server.receive(StateFrame(.end, 0, 9, 0, flags: 2))
        server.host.writtenFrames = 1
        let (client, _) = try StateSide.pair()
        try client.call(2, streams: StreamSource())
        var frame = client.takeFrames()[0]
        // The call's question is open.
        frame.bytes[0] = 5
        let error = #expect(throws: ProtocolViolation.self) { try server.receive(frame) }
        #expect(error?.reason == .outOfStep)
    }
}

private func error(_ text: String) -> ConnectionError { ConnectionError(.wrongResult, text) }
