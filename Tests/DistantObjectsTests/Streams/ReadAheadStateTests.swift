import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: how far streams are read ahead")
struct ReadAheadStateTests {
    /// The two sides of a stream whose reader has asked for items.
    private func begun(
        made: Int? = nil, read: Int? = nil
    ) throws -> (client: StateSide, server: StateSide, inbox: StreamInbox, outbox: StreamOutbox) {
        let (client, server) = try StateSide.pair()
        try client.call(1, streams: StreamSource(readAhead: made))
        try server.receive(client.takeFrames())
        let inbox = try server.takeStream()
        #expect(server.begin(inbox, readAhead: read))
        try client.receive(server.takeFrames())
        return (client, server, inbox, try #require(client.started.first))
    }

    /// Sends all that is allowed, and has the reader take it.
    ///
    /// - Parameter time: The nanoseconds that the reader needs for an item.
    /// - Returns: The number of items that were sent.
    private func round(
        _ client: StateSide, _ server: StateSide, _ inbox: StreamInbox, _ outbox: StreamOutbox, time: UInt64,
        now: inout UInt64
    ) throws -> Int {
        var count = 0
        while outbox.allowance > 0 {
            count += outbox.allowance
            _ = try client.send(outbox.allowance, of: outbox)
        }
        try server.receive(client.takeFrames())
        var last: StreamItems?
        while let items = server.next(inbox, after: last, at: now).items {
            now += time * UInt64(items.count)
            last = items
        }
        try client.receive(server.takeFrames())
        return count
    }

    @Test("The window grows with a fast reader, stays small with a slow one, and follows one that changes")
    func follows() throws {
        let (client, server, inbox, outbox) = try begun()
        var now: UInt64 = 0
        let slow = try (0..<8).map { _ in
            try round(client, server, inbox, outbox, time: 2_000_000, now: &now)
        }
        #expect(slow.allSatisfy { $0 == ReadAhead.items.least })
        var fast: [Int] = []
        while fast.last != ReadAhead.items.most, fast.count < 20 {
            fast.append(try round(client, server, inbox, outbox, time: 10, now: &now))
        }
        #expect(fast.last == ReadAhead.items.most && fast == fast.sorted())
        for _ in 0..<20 { _ = try round(client, server, inbox, outbox, time: 1_000_000, now: &now) }
        #expect(try round(client, server, inbox, outbox, time: 1_000_000, now: &now) == ReadAhead.items.least)
    }

    @Test("The window does not grow while the producer does not use it up")
    func slowProducer() throws {
        let (client, server, inbox, outbox) = try begun()
        for _ in 0..<100 {
            _ = try client.send(1, of: outbox)
            try server.receive(client.takeFrames())
            let items = try #require(server.next(inbox).items)
            #expect(server.next(inbox, after: items).isNothing)
            try client.receive(server.takeFrames())
            #expect(outbox.items == ReadAhead.items.least)
        }
    }

    @Test("What the program says is the window, and the smaller number counts", arguments: [0, 1, 2, 5, 15, 100])
    func given(_ most: Int) throws {
        for (made, read) in [(most, nil), (nil, most), (most, most + 3), (most + 3, most)] as [(Int?, Int?)] {
            let (client, server, inbox, outbox) = try begun(made: made, read: read)
            var now: UInt64 = 0
            let counts = try (0..<10).map { _ in
                try round(client, server, inbox, outbox, time: 10, now: &now)
            }
            #expect(counts.last == most + 1 && counts.allSatisfy { $0 > 0 && $0 <= most + 1 })
        }
    }

    @Test("A reader that returns credit only for half of 4,096 items gets on with a producer that holds back")
    func olderReader() throws {
        let (client, server) = try StateSide.pair()
        try client.call(1, streams: StreamSource(readAhead: 1))
        try server.receive(client.takeFrames())
        try client.receive(StateFrame(.credit, 0, 4_096, 262_144, flags: 3))
        let outbox = try #require(client.started.first)
        var (sent, owedItems, owedBytes) = (0, 0, 0)
        while sent < 10_000 {
            let count = outbox.allowance
            try #require(count > 0)
            _ = try client.send(count, of: outbox, bytes: 0)
            sent += count
            owedItems += count
            owedBytes += client.takeFrames().reduce(0) { $0 + $1.bytes.count }
            #expect(owedItems <= 2_048)
            guard owedItems >= 2_048 else { continue }
            try client.receive(StateFrame(.credit, 0, UInt64(owedItems), UInt64(owedBytes), flags: 3))
            (owedItems, owedBytes) = (0, 0)
        }
    }
}
