import Dispatch
import DistantObjects
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// One broken rule: what the peer sends after its `Hello`, and the `Goodbye` it gets.
struct Attack: Sendable, CustomTestStringConvertible {
    var name: String
    var reason: UInt64
    var greets = true
    var features: UInt64 = 0
    var bytes: [UInt8]

    var testDescription: String { name }

    private typealias Raw = RawPeer

    static let all: [Attack] = beginnings + frames + calls + references + answers + shares

    private static let beginnings = [
        Attack(name: "bad magic", reason: 2, greets: false, bytes: Raw.frame(1, [1, 2, 3, 4, 1, 0, 1, 1, 1, 0])),
        Attack(
            name: "another version", reason: 2, greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 9, 0, 1, 1, 1, 0])),
        Attack(name: "a short Hello", reason: 1, greets: false, bytes: Raw.frame(1, [0x44, 0x4F])),
        Attack(name: "a call before Hello", reason: 5, greets: false, bytes: Raw.frame(2, Raw.call())),
        Attack(
            name: "no credit at all", reason: 1, greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 1, 0, 0, 1, 1, 0])),
        Attack(
            name: "a name in Hello that is not UTF-8", reason: 1, greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 1, 0, 1, 1, 1, 2, 0xC3, 0x28])),
        Attack(name: "a second Hello", reason: 5, bytes: Raw.frame(1, Raw.hello)),
        Attack(
            name: "text instead of frames", reason: 1, greets: false,
            bytes: Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
    ]

    private static let frames = [
        Attack(name: "a huge length", reason: 1, bytes: Raw.frame(2, [], length: .max)),
        Attack(name: "an unknown kind", reason: 1, bytes: Raw.frame(77, [])),
        Attack(name: "a kind of a feature not agreed on", reason: 4, bytes: Raw.frame(14, [])),
        Attack(
            name: "a ping in fragments", reason: 1, bytes: Raw.frame(11, flags: 0x80, [9, 0, 0, 0, 0, 0, 0, 0, 1])),
        Attack(
            name: "a continuation of nothing", reason: 1, bytes: Raw.frame(255, [9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3])),
        Attack(
            name: "bulk larger than allowed", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [UInt8](repeating: 0xFF, count: 8) + Raw.call())),
        Attack(name: "a number over 64 bits", reason: 1, bytes: Raw.frame(11, [UInt8](repeating: 0xFF, count: 11))),
        Attack(name: "a body longer than its content", reason: 1, bytes: Raw.frame(11, [0, 0, 0])),
        Attack(name: "an empty frame", reason: 1, bytes: Raw.frame(6, [])),
        Attack(name: "a pong to no ping", reason: 5, bytes: Raw.frame(12, [1])),
        Attack(
            name: "more barriers than allowed", reason: 6,
            bytes:
                Raw.frame(2, flags: 0, Raw.call(body: Raw.text("x")))
                + (0..<400).flatMap { Raw.frame(10, Raw.number(UInt64($0))) }),
        Attack(name: "credit that was never used", reason: 6, bytes: Raw.frame(7, [5])),
        Attack(name: "bulk credit that was never used", reason: 6, bytes: Raw.frame(7, flags: 1, [5])),
        Attack(name: "descriptors that do not come", reason: 1, bytes: Raw.frame(11, descriptors: 2, [1])),
        Attack(
            name: "more bulk than announced", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])),
        Attack(
            name: "bytes behind the tables of a message in fragments", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call() + [0])),
        Attack(
            name: "the end of a message without the flag that says so", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3])),
        Attack(name: "half a frame and then the end", reason: 1, bytes: Raw.frame(2, Raw.call()).dropLast(3)),
        Attack(
            name: "the end within a message in fragments", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1])),
        Attack(name: "credit of an unknown kind", reason: 1, bytes: Raw.frame(7, flags: 9, [0])),
    ]

    private static let calls = [
        Attack(name: "unknown flags of a call", reason: 1, bytes: Raw.frame(2, flags: 0x40, Raw.call())),
        Attack(name: "a target never given", reason: 4, bytes: Raw.frame(2, Raw.call(slot: 7))),
        Attack(name: "a slot beyond 32 bits", reason: 1, bytes: Raw.frame(2, Raw.call(slot: 1 << 40))),
        Attack(name: "a stale generation", reason: 5, bytes: Raw.frame(2, Raw.call(generation: 1))),
        Attack(name: "a question's number over the limit", reason: 6, bytes: Raw.frame(2, Raw.call(question: 100_000))),
        Attack(name: "a question asked twice", reason: 5, bytes: Raw.frame(2, Raw.call()) + Raw.frame(2, Raw.call())),
        Attack(name: "a name never interned", reason: 4, bytes: Raw.frame(2, Raw.call(name: [40]))),
        Attack(name: "a name that is not UTF-8", reason: 1, bytes: Raw.frame(2, Raw.call(name: [0, 2, 0xC3, 0x28]))),
        Attack(
            name: "a name longer than the frame", reason: 1,
            bytes: Raw.frame(2, Raw.call(name: [0] + Raw.number(1 << 30)))),
        Attack(
            name: "a name longer than allowed", reason: 1,
            bytes: Raw.frame(2, Raw.call(name: [0] + Raw.text(String(repeating: "x", count: 2_000))))),
        Attack(name: "a question beyond 32 bits", reason: 1, bytes: Raw.frame(2, Raw.call(question: 1 << 32))),
        Attack(name: "a generation beyond 32 bits", reason: 1, bytes: Raw.frame(2, Raw.call(generation: 1 << 32))),
        Attack(name: "a cancel of nothing", reason: 4, bytes: Raw.frame(4, [9])),
        Attack(name: "a drop of nothing", reason: 4, bytes: Raw.frame(5, [9])),
        Attack(
            name: "more names than may be interned", reason: 6,
            bytes: (0..<4_200).flatMap { number in
                Raw.frame(2, flags: 1, Array(Raw.call(name: [0] + Raw.text("n\(number)")).dropFirst()))
            }),
    ]

    private static let references = [
        Attack(
            name: "more references than bytes", reason: 1,
            bytes: Raw.frame(2, Raw.call(references: Raw.number(1 << 40)))),
        Attack(
            name: "a reference of neither side", reason: 1, bytes: Raw.frame(2, Raw.call(references: [1, 2, 0, 0]))),
        Attack(
            name: "a reference to an object never given", reason: 4,
            bytes: Raw.frame(2, Raw.call(references: [1, 0, 9, 0]))),
        Attack(
            name: "an id given anew before its release", reason: 5,
            bytes:
                Raw.frame(2, Raw.call(references: [1, 1, 5, 0]))
                + Raw.frame(2, Raw.call(question: 1, references: [1, 1, 5, 1]))),
        Attack(
            name: "more references than one message may have", reason: 6,
            bytes: Raw.frame(
                2, Raw.call(references: Raw.number(4_097) + (0..<4_097).flatMap { [1] + Raw.number($0 + 1) + [0] }))),
        Attack(name: "a release of an object never given", reason: 4, bytes: Raw.frame(6, [0, 1, 9, 0])),
        Attack(name: "a release of the root directory", reason: 5, bytes: Raw.frame(6, [1, 1, 0, 0])),
        Attack(name: "a release from the future", reason: 4, bytes: Raw.frame(6, Raw.number(1 << 50) + [0])),
        Attack(name: "a release with more ids than bytes", reason: 1, bytes: Raw.frame(6, [1] + Raw.number(1 << 50))),
        Attack(name: "a shape never interned", reason: 4, bytes: Raw.frame(2, Raw.call(shapes: [1, 40]))),
        Attack(
            name: "the root directory under another generation", reason: 5,
            bytes: Raw.frame(2, Raw.call(references: [1, 1, 0, 1]))),
        Attack(name: "more shapes than bytes", reason: 1, bytes: Raw.frame(2, Raw.call(shapes: Raw.number(1 << 60)))),
    ]

    private static let answers = [
        Attack(name: "a reply to no question", reason: 4, bytes: Raw.frame(3, [0, 0, 0])),
        Attack(name: "a reply with an unknown status", reason: 1, bytes: Raw.frame(3, flags: 9, [0, 0, 0])),
        Attack(name: "a failure of a frame never sent", reason: 4, bytes: Raw.frame(13, [100, 1, 0])),
        Attack(name: "a failure of what is no one-way message", reason: 4, bytes: Raw.frame(13, [1, 1, 0])),
        Attack(name: "credit for one-way messages without the feature", reason: 4, bytes: Raw.frame(7, flags: 2, [1])),
        Attack(
            name: "credit for one-way messages that was never used", reason: 6, features: 4,
            bytes: Raw.frame(7, flags: 2, [1])),
        Attack(name: "a goodbye from the future", reason: 4, bytes: Raw.frame(16, Raw.number(1 << 40) + [0, 0])),
    ]

    private static let (ask, give, move) = (Raw.frame(17, []), Raw.frame(17, flags: 1, []), Raw.frame(17, flags: 2, []))

    private static let shares = [
        Attack(name: "asking for memory that was not agreed on", reason: 4, bytes: ask),
        Attack(name: "an unknown step to shared memory", reason: 1, bytes: Raw.frame(17, flags: 9, [])),
        Attack(name: "a step to shared memory with a body", reason: 1, features: 3, bytes: Raw.frame(17, [1])),
        Attack(name: "memory from who has to ask", reason: 5, features: 3, bytes: give),
        Attack(name: "memory asked for twice", reason: 5, features: 3, bytes: ask + ask),
        Attack(name: "moving to no memory", reason: 5, features: 3, bytes: move),
    ]
}

@Suite("A hostile peer", .bounded())
struct HostilePeerTests {
    @Test("Each broken rule ends its own connection with a reason, and no other", arguments: Attack.all)
    func attack(_ attack: Attack) async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let ended = Signal()
        let serving = Task {
            for try await connection in listener {
                connection.vend(Directory())
                Task {
                    _ = await connection.ended
                    #expect(connection.statistics.isAtRest)
                    ended.send()
                }
            }
        }
        let good = try await Connection.open(.path(place.socket), configuration: .patient)
        let directory = try await good.root
        let before: Int = try await directory.echo(1)
        #expect(before == 1)

        let raw = try RawPeer(connectingTo: place.socket)
        let frames = try await onThread { () -> [RawPeer.Frame] in
            if attack.greets {
                raw.send(1, RawPeer.greeting(features: attack.features))
                _ = raw.read()
            }
            raw.send(attack.bytes)
            shutdown(raw.descriptor, CInt(SHUT_WR))
            return raw.readToEnd()
        }
        let goodbye = try #require(frames.last)
        #expect(goodbye.kind == 16)
        var body = goodbye.body[...]
        _ = RawPeer.takeNumber(&body)
        #expect(RawPeer.takeNumber(&body) == attack.reason, "\(String(decoding: goodbye.body, as: UTF8.self))")
        let after: Int = try await directory.echo(2)
        #expect(after == 2)
        await good.close()
        listener.close()
        try await serving.value
    }

    @Test("Bytes that are no arguments are refused; the connection goes on")
    func wrongArguments() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for try await connection in listener { connection.vend(Directory()) }
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
        try await serving.value
    }

    @Test("Half a frame, then death: the connection ends, and nothing is left")
    func halfFrame() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let connections = Task { () -> Connection? in
            var iterator = listener.makeAsyncIterator()
            return try await iterator.next()
        }
        let raw = try RawPeer(connectingTo: place.socket)
        raw.send(1, RawPeer.hello)
        _ = try await onThread { raw.read() == nil }
        raw.send(Array(RawPeer.frame(2, RawPeer.call()).dropLast(3)))
        let connection = try #require(try await connections.value)
        raw.close()
        guard case .lost = await connection.ended else {
            Issue.record("the end was not seen as a loss")
            return
        }
        #expect(connection.statistics.isAtRest)
        listener.close()
    }

    @Test("Nothing is run for a peer that the accept rule has not let in", arguments: [true, false])
    func notAccepted(isLetIn: Bool) async throws {
        let (raw, ours) = try Bereaved.ends(.socketpair)
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
            try await Bereaved.adopt(ours, isInitiator: true, configuration)
        }
        raw.send(RawPeer.frame(1, RawPeer.hello) + RawPeer.frame(2, RawPeer.call(body: [0, 1, 0x80])))
        await asked.wait()
        // A pong says that what was sent before was read; an answer to the call would have its time.
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

    @Test("A peer that reads no more, but does not end, loses its connection; others do not notice")
    func readsNoMore() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let accepted = Task { try #require(try await listener.first { _ in true }) }
        let good = try await Pair()
        let directory = try await good.client.root
        let raw = try RawPeer(connectingTo: place.socket)
        raw.send(1, RawPeer.hello)
        _ = try await onThread { raw.read() == nil }
        let connection = try await accepted.value
        shutdown(raw.descriptor, CInt(SHUT_RD))
        // The answer cannot be written; what else it sent is read, and there is nothing.
        raw.send(11, [1])
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
        let back: Int = try await directory.echo(3)
        #expect(back == 3)
        await good.close()
        raw.close()
        listener.close()
    }

    @Test("Half a frame, then silence: other connections do not notice")
    func silence() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for try await connection in listener { connection.vend(Directory()) }
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
        try await serving.value
    }
}
