import DistantObjects
import Synchronization
import TestSupport
import Testing

/// A server passes one-way messages of one peer on to another peer, which stops reading.
@Suite("One-way messages that are passed on to another connection", .bounded())
struct OneWaySubscriberTests {
    enum Outcome: CaseIterable, Sendable { case subscriberReads, subscriberIsGone }

    @Test("A stopped subscriber delays the messages of an innocent client, and loses none", arguments: Outcome.allCases)
    func stoppedInOneWaySubscriber(outcome: Outcome) async throws {
        // It grants unlimited credit, and reads nothing.
        let subscriber = try await RawPeerConnection(
            .socketpair, hello: RawPeer.greeting(queuedCalls: 1 << 40, runningCalls: 1 << 40, features: 4),
            server: true)
        let pair = try await Pair()
        let publisher = Publisher(try await subscriber.root())
        pair.server.vend(publisher, as: "publisher")
        let proxy = try await pair.client.root(named: "publisher")
        let count = 3_000
        let sender = Task {
            for number in 0..<count { try await proxy.publish.oneWay(number) }
        }
        // The subscriber's queue takes about a thousand. The methods of as many as may run at a time wait for room.
        await eventually("the methods wait") { subscriber.connection.statistics.pending == 1_024 }
        await eventually("the next message waits for credit") { pair.client.statistics.pending == 1 }
        let begun: Int = try await proxy.begun()
        #expect((2_024..<count).contains(begun), "calls are still answered, and the rest has not begun")

        let raw = subscriber.raw
        let reader = Task {
            try await onThread { () -> Int in
                guard outcome == .subscriberReads else {
                    raw.close()
                    return 0
                }
                var read = 0
                while read < count, let frame = raw.read() { read += frame.kind == 2 ? 1 : 0 }
                return read
            }
        }
        try await sender.value
        try await pair.client.barrier()
        let read = try await reader.value
        #expect(publisher.numbers.withLock { $0 } == Array(0..<count))
        let losses = await pair.client.close()
        #expect(losses.count == 0)
        let failed = publisher.codes.withLock { $0 }
        switch outcome {
        case .subscriberReads: #expect(read == count && failed == [:])
        case .subscriberIsGone:
            // Those that waited, and those that came later.
            #expect(failed[.notSent] == 1_024)
            #expect(failed[.closed, default: 0] + begun == count, "\(failed)")
        }
        raw.close()
        await subscriber.expectEnd { _ in true }
    }
}

/// Sends each number that it gets to a subscriber.
private final class Publisher: Vendable {
    /// In the order in which they came.
    let numbers = Mutex<[Int]>([])
    let codes = Mutex<[ConnectionError.Code: Int]>([:])
    private let subscriber: DistantObject

    init(_ subscriber: DistantObject) { self.subscriber = subscriber }

    static var messages: MessageTable<Publisher> {
        Message("publish", Publisher.publish)
        Message("begun", Publisher.begun)
    }

    func publish(_ number: Int) async throws {
        numbers.withLock { $0.append(number) }
        do {
            try await subscriber.note.oneWay(String(repeating: "x", count: 4_000))
        } catch {
            codes.withLock { $0[(error as? ConnectionError)?.code ?? .outcomeUnknown, default: 0] += 1 }
            throw error
        }
    }

    func begun() -> Int { numbers.withLock { $0.count } }
}
