import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Death of a peer", .serialized, .bounded())
struct PeerDeathTests {
    typealias Transport = RawPeerConnection.Transport

    @Test(
        "If it dies before or within its Hello, opening fails", arguments: Transport.allCases,
        [0, 3, 8, 11, RawPeer.hello.count + 7])
    func handshakeInPeerDeath(transport: Transport, bytes: Int) async throws {
        for isInitiator in [true, false] {
            let (raw, ours) = try RawPeerConnection.ends(transport)
            raw.send(Array(RawPeer.frame(1, RawPeer.hello).prefix(bytes)))
            raw.close()
            await expectCode(.closed) {
                _ = try await RawPeerConnection.adopt(ours, isInitiator: isInitiator, Connection.Configuration.patient)
            }
        }
    }

    @Test("If it dies on an idle connection, the connection ends as lost", arguments: Transport.allCases)
    func idleInPeerDeath(transport: Transport) async throws {
        for isServer in [false, true] {
            let pair = try await RawPeerConnection(transport, server: isServer)
            pair.raw.close()
            await pair.expectEnd(RawPeerConnection.isLost)
        }
    }

    @Test(
        "A call larger than the socket buffer that it does not read was not sent", arguments: Transport.allCases
    )
    func notWritten(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport)
        let root = try await pair.root()
        let large = CountedCall { let _: Int = try await root.bytes([UInt8](repeating: 1, count: 1_000_000)) }
        // It is queued behind a large call that is not written, and overtakes it.
        await eventually("the opener is written") { pair.raw.unread > 0 }
        pair.raw.close()
        await large.expect(.notSent)
        await pair.expectEnd(RawPeerConnection.isLost)
        await expectCode(.closed) { let _: Int = try await root.echo(1) }
    }

    @Test("A small call that it did not read has an unknown outcome", arguments: Transport.allCases)
    func unreadInPeerDeath(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport)
        let call = CountedCall { _ = try await pair.connection.root }
        await eventually("the call is written") { pair.raw.unread > 0 }
        pair.raw.close()
        await call.expect(.outcomeUnknown)
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    /// The part of its answer that it still sends.
    static let parts: [[UInt8]] = [
        [],
        Array(RawPeer.frame(3, RawPeer.result(slot: 1)).prefix(5)),
        Array(RawPeer.frame(3, RawPeer.result(slot: 1)).dropLast()),
        // An opener of 100,000 bytes that mentions an object, and a continuation with some of them.
        RawPeer.frame(3, flags: 0x80, [0xA0, 0x86, 1, 0, 0, 0, 0, 0] + RawPeer.result(slot: 1).prefix(6)),
        RawPeer.frame(3, flags: 0x80, [0xA0, 0x86, 1, 0, 0, 0, 0, 0] + RawPeer.result(slot: 1).prefix(6))
            + RawPeer.frame(255, [2, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 5_000)),
        RawPeer.frame(3, flags: 0x80, [0xA0, 0x86, 1, 0, 0, 0, 0, 0] + RawPeer.result(slot: 1).prefix(6))
            + Array(RawPeer.frame(255, [2, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 5_000)).prefix(3_000)),
    ]

    @Test(
        "A call that it did not answer completely has an unknown outcome", arguments: Transport.allCases,
        parts.indices)
    func unanswered(transport: Transport, part: Int) async throws {
        let pair = try await RawPeerConnection(transport)
        let call = CountedCall { _ = try await pair.connection.root }
        let raw = pair.raw
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(Self.parts[part])
        raw.close()
        await call.expect(.outcomeUnknown)
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test(
        "If it dies after its answer, the call has its result, and the proxy is invalid", arguments: Transport.allCases)
    func answered(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport)
        let root = try await pair.root()
        pair.raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
        await expectCode(.closed) { let _: Int = try await root.echo(1) }
        await expectCode(.closed) { try await root.note.oneWay(1) }
    }

    @Test("An answer that it wrote just before its death counts", arguments: Transport.allCases)
    func answerThenDeath(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport)
        let call = CountedCall { _ = try await pair.connection.root }
        let raw = pair.raw
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(3, RawPeer.result(slot: 1))
        raw.close()
        await call.expect(nil)
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test(
        "After a Goodbye, calls after its watermark were not delivered, and earlier ones may have run",
        arguments: Transport.allCases, [UInt64(1), 2, 3])
    func goodbyeInPeerDeath(transport: Transport, watermark: UInt64) async throws {
        let pair = try await RawPeerConnection(transport)
        // Openers 2 and 3; the first is Hello.
        let first = CountedCall { _ = try await pair.connection.root(named: "a") }
        let raw = pair.raw
        #expect(try await onThread { raw.read()?.kind } == 2)
        let second = CountedCall { _ = try await pair.connection.root(named: "b") }
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(16, RawPeer.number(watermark) + [0] + RawPeer.text("gone"))
        raw.close()
        await first.expect(watermark < 2 ? .notDelivered : .outcomeUnknown)
        await second.expect(watermark < 3 ? .notDelivered : .outcomeUnknown)
        await pair.expectEnd { if case .closedByPeer("gone") = $0 { true } else { false } }
    }

    @Test("Waiting calls, one-way messages, pings and barriers each end once", arguments: Transport.allCases)
    func waitingInPeerDeath(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport, hello: RawPeer.greeting(queuedCalls: 1))
        // The credit is never returned: this one is sent, and no more.
        let sent = CountedCall { _ = try await pair.connection.root }
        let raw = pair.raw
        #expect(try await onThread { raw.read()?.kind } == 2)
        let connection = pair.connection
        let calls = (0..<20).map { _ in CountedCall { _ = try await connection.root } }
        let proxy = try await Self.proxy(of: connection, raw)
        let messages = (0..<20).map { number in CountedCall { try await proxy.note.oneWay(number) } }
        let pings = (0..<5).map { _ in CountedCall { try await connection.ping() } }
        let barriers = (0..<5).map { _ in CountedCall { try await connection.barrier() } }
        let blocking = CountedCall { try await onThread { _ = try connection.blockingRoot() } }
        let blockingMessage = CountedCall { try await onThread { try proxy.note.blockingOneWay(1) } }
        await eventually("all wait") {
            connection.statistics.pending == 42 && connection.statistics.questions == 22
                && connection.statistics.framesOut == 13
        }
        raw.close()
        await sent.expect(.outcomeUnknown)
        for call in calls + messages + [blocking, blockingMessage] { await call.expect(.notSent) }
        for control in pings + barriers { await control.expect(.closed) }
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    /// A proxy that comes as an argument, because calls get no answers any more.
    private static func proxy(of connection: Connection, _ raw: RawPeer) async throws -> DistantObject {
        let directory = Directory()
        connection.vend(directory, as: "d")
        // The root directory's answer tells the slot of the directory, which is the first one given.
        raw.send(2, RawPeer.call(body: [0, 2, 0x81, 0x64]))
        let frame = try await onThread { raw.read() }
        #expect(frame?.kind == 3 && frame?.flags == 0)
        raw.send(
            2, flags: 1,
            Array(
                RawPeer.call(
                    slot: 1, name: [0] + RawPeer.text("watch"), references: [1, 1, 9, 0], body: [0, 2, 0xD7, 0]
                ).dropFirst()))
        await eventually("the proxy has come") { directory.observer.withLock { $0 != nil } }
        return try #require(directory.observer.withLock { $0 })
    }

    @Test(
        "If it dies during its own call, the serving task is cancelled and its references are released",
        arguments: Transport.allCases)
    func caller(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport, server: true)
        let directory = Directory()
        pair.connection.vend(directory)
        let raw = pair.raw
        // A running call, one that waits behind it, and one that has arrived in part.
        raw.send(2, RawPeer.call(question: 0, body: [0, 1, 0x80]))
        #expect(try await onThread { raw.read()?.kind } == 3)
        raw.send(2, RawPeer.call(question: 1, slot: 1, name: [0] + RawPeer.text("wait"), arguments: 0, body: [0, 0]))
        raw.send(
            2,
            flags: 0x80,
            [0xA0, 0x86, 1, 0, 0, 0, 0, 0]
                + RawPeer.call(
                    question: 2, slot: 1, name: [0] + RawPeer.text("watch"), references: [1, 1, 9, 0]))
        raw.send(2, RawPeer.call(question: 3, slot: 1, name: [0] + RawPeer.text("names"), arguments: 0, body: [0, 0]))
        await directory.started.wait()
        raw.close()
        await directory.stopped.wait()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("If it dies while this side closes, the close ends as a close of this side", arguments: Transport.allCases)
    func closingInPeerDeath(transport: Transport) async throws {
        let pair = try await RawPeerConnection(transport, server: true)
        let directory = Directory()
        pair.connection.vend(directory)
        let raw = pair.raw
        raw.send(2, RawPeer.call(question: 0, body: [0, 1, 0x80]))
        #expect(try await onThread { raw.read()?.kind } == 3)
        raw.send(2, RawPeer.call(question: 1, slot: 1, name: [0] + RawPeer.text("wait"), arguments: 0, body: [0, 0]))
        await directory.started.wait()
        let call = CountedCall { _ = try await pair.connection.root }
        #expect(try await onThread { raw.read()?.kind } == 2)
        let closed = CountedCall { await pair.connection.close(timeout: TestTimeout.wait) }
        await pair.connection.awaitClosing()
        raw.close()
        await closed.expect(nil)
        await call.expect(.outcomeUnknown)
        await pair.expectEnd { if case .closedHere = $0 { true } else { false } }
    }

    @Test("A peer that said goodbye and still reads gets the answers to its calls", arguments: Transport.allCases)
    func goodbyeWithCalls(transport: Transport) async throws {
        let (pair, directory) = try await withCalls(transport)
        let raw = pair.raw
        let call = CountedCall { _ = try await pair.connection.root }
        #expect(try await onThread { raw.read()?.kind } == 2)
        raw.send(16, RawPeer.number(2) + [0, 0])
        raw.finishSending()
        // It answers no more calls, as its Goodbye says; its own calls go on.
        await call.expect(.notDelivered)
        #expect(directory.stopped.count == 0)
        directory.go.send()
        let frames = try await onThread { raw.readToEnd() }
        #expect(frames.map(\.kind) == [3, 3, 16])
        raw.close()
        await pair.expectEnd { if case .closedByPeer = $0 { true } else { false } }
    }

    @Test("A peer that said goodbye and dies before the answers is noticed", arguments: Transport.allCases)
    func goodbyeThenDeath(transport: Transport) async throws {
        let (pair, directory) = try await withCalls(transport)
        pair.raw.send(16, RawPeer.number(2) + [0, 0])
        pair.raw.finishSending()
        await pair.connection.awaitClosing()
        pair.raw.close()
        await directory.stopped.wait()
        await pair.expectEnd { if case .closedByPeer = $0 { true } else { false } }
    }

    /// A server with a call that runs until the test ends it, and a later one.
    private func withCalls(_ transport: Transport) async throws -> (RawPeerConnection, Directory) {
        let pair = try await RawPeerConnection(transport, server: true)
        let directory = Directory()
        pair.connection.vend(directory)
        let raw = pair.raw
        raw.send(2, RawPeer.call(question: 0, body: [0, 1, 0x80]))
        #expect(try await onThread { raw.read()?.kind } == 3)
        for question: UInt64 in 0...1 {
            raw.send(
                2,
                RawPeer.call(
                    question: question, slot: 1, name: [0] + RawPeer.text("hold"), arguments: 0, body: [0, 0]))
        }
        await directory.started.wait(for: 2)
        return (pair, directory)
    }

    @Test("After any number of bytes that it has read, everything under way ends once", arguments: Transport.allCases)
    func afterBytes(transport: Transport) async throws {
        var outcomes: [ConnectionError.Code?: Int] = [:]
        for count in stride(from: 0, to: 900, by: 23) {
            let pair = try await RawPeerConnection(transport)
            let root = try await pair.root()
            let calls = [
                CountedCall { try await root.watch(Observer()) },
                CountedCall { try await root.note.oneWay(1) },
                CountedCall { let _: [UInt8] = try await root.bytes([UInt8](repeating: 1, count: 1_000_000)) },
                CountedCall { let _: Bar = try await root.bar(Bar([Foo(name: "a", age: 1)])) },
                CountedCall { try await pair.connection.barrier() },
            ]
            let raw = pair.raw
            try await onThread { raw.skip(count) }
            raw.close()
            for call in calls {
                outcomes[await call.expect(oneOf: [nil, .outcomeUnknown, .notSent, .closed]), default: 0] += 1
            }
            await pair.expectEnd(RawPeerConnection.isLost)
        }
        // The others depend on timing, so they need not occur.
        for certain: ConnectionError.Code? in [nil, .outcomeUnknown, .notSent] {
            #expect(outcomes[certain] != nil, "\(outcomes)")
        }
    }

    @Test("Nothing of the connection is left in memory", arguments: Transport.allCases)
    func freedInPeerDeath(transport: Transport) async throws {
        weak var connection: Connection?
        weak var observer: Observer?
        do {
            let pair = try await RawPeerConnection(transport)
            connection = pair.connection
            let root = try await pair.root()
            let strong = Observer()
            observer = strong
            let call = CountedCall { try await root.watch(strong) }
            let raw = pair.raw
            #expect(try await onThread { raw.read()?.kind } == 2)
            raw.close()
            await call.expect(.outcomeUnknown)
            await pair.expectEnd(RawPeerConnection.isLost)
        }
        await eventually("the connection and what it exported are freed") { connection == nil && observer == nil }
    }
}
