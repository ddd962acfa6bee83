import Dispatch
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

@Suite("A hostile peer", .bounded())
struct HostilePeerTests {
    @Test("The implementation does what the articles say", arguments: Check.all)
    func checkInHostilePeer(_ check: Check) async throws {
        #expect(try check.article.says(check.rule), "\(check.article) does not say: \(check.rule)")
        try await check.run()
    }

    @Test("Each check has a different name")
    func namesInHostilePeer() {
        #expect(Set(Check.all.map(\.name)).count == Check.all.count)
    }

    @Test("A call with invalid arguments is refused, and the connection goes on")
    func wrongArgumentsInHostilePeer() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener { connection.vend(Directory()) }
        }
        let raw = try RawPeer(connectingTo: place.socket)
        let bodies: [[UInt8]] = [
            [], [0xFF], [1], [0, 0], [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            RawPeer.number(1 << 40), [0] + [UInt8](repeating: 0x0B, count: 60_000),
            [0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 2],
        ]
        let frames = try await onThread { () -> [RawPeer.Frame] in
            raw.send(1, RawPeer.hello)
            _ = raw.read()
            return bodies.enumerated().compactMap { index, body in
                raw.send(2, RawPeer.call(question: 0, name: index == 0 ? [0] + RawPeer.text("root") : [2], body: body))
                return raw.read()
            }
        }
        #expect(frames.count == bodies.count)
        for frame in frames {
            #expect(frame.kind == 3)
            #expect(frame.flags == 2)
        }
        raw.close()
        listener.close()
        await serving.value
    }

    @Test("A peer that dies within a frame leaves nothing behind")
    func halfFrame() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let connections = Task { () -> Connection? in
            var iterator = listener.makeAsyncIterator()
            return await iterator.next()
        }
        let raw = try RawPeer(connectingTo: place.socket)
        raw.send(1, RawPeer.hello)
        _ = try await onThread { raw.read() == nil }
        raw.send(Array(RawPeer.frame(2, RawPeer.call()).dropLast(3)))
        let connection = try #require(await connections.value)
        raw.close()
        guard case .lost = await connection.ended else {
            Issue.record("the end was not seen as a loss")
            return
        }
        #expect(connection.statistics.isAtRest)
        listener.close()
    }

    @Test("No call runs for a peer that the accept rule has not accepted", arguments: [true, false])
    func notAccepted(isLetIn: Bool) async throws {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        let asked = Signal()
        let gate = DispatchSemaphore(value: 0)
        var configuration = Connection.Configuration.patient
        // Long enough for another thread to read on.
        configuration.accept = Connection.AcceptRule { _ in
            asked.send()
            gate.wait()
            return isLetIn ? nil : "not today"
        }
        let opening = Task { [configuration] in
            try await RawPeerConnection.adopt(ours, isInitiator: true, configuration)
        }
        raw.send(RawPeer.frame(1, RawPeer.hello) + RawPeer.frame(2, RawPeer.call(body: [0, 1, 0x80])))
        await asked.wait()
        // A pong shows that the earlier frames were read, so an answer to the call would have arrived.
        let before = try await onThread { () -> [UInt8] in
            var kinds: [UInt8] = [raw.read()?.kind ?? 0]
            for _ in 0..<5 {
                raw.send(11, [1])
                kinds.append(raw.read()?.kind ?? 0)
            }
            return kinds
        }
        #expect(before == [1] + [UInt8](repeating: 12, count: 5))
        gate.signal()
        let next = try await onThread { raw.read() }
        if isLetIn {
            let connection = try await opening.value
            #expect(next?.kind == 3)
            raw.close()
            _ = await connection.ended
            #expect(connection.statistics.isAtRest)
        } else {
            #expect(next?.kind == 16 && next?.body.dropFirst().first == 3)
            await expectCode(.peerRefused) { _ = try await opening.value }
            let rest = try await onThread { raw.readToEnd() }
            #expect(rest.isEmpty)
        }
    }

    @Test("A peer that stops reading loses its connection, and others are not affected")
    func readsNoMore() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let accepted = Task { try #require(await listener.first { _ in true }) }
        let good = try await Pair()
        let directory = try await good.client.root
        let raw = try RawPeer(connectingTo: place.socket)
        raw.send(1, RawPeer.hello)
        _ = try await onThread { raw.read() == nil }
        let connection = try await accepted.value
        shutdown(raw.descriptor, CInt(SHUT_RD))
        // The answer cannot be written. The rest of its input is read, and there is none.
        raw.send(11, [1])
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
        let back: Int = try await directory.echo(3)
        #expect(back == 3)
        await good.close()
        raw.close()
        listener.close()
    }

    @Test("A peer that stalls within a frame does not affect other connections")
    func silenceInHostilePeer() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener { connection.vend(Directory()) }
        }
        let raw = try RawPeer(connectingTo: place.socket)
        raw.send(1, RawPeer.hello)
        _ = try await onThread { raw.read() == nil }
        raw.send(Array(RawPeer.frame(2, RawPeer.call()).dropLast(3)))
        let good = try await Connection.open(.path(place.socket), configuration: .patient)
        for number in 0..<100 {
            let back: Int = try await good.root.echo(number)
            #expect(back == number)
        }
        await good.close()
        raw.close()
        listener.close()
        await serving.value
    }
}
