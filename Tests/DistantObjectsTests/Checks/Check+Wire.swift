import DistantObjects
import TestSupport
import Testing

// What `WireProtocol.md` allows, and its rules about numbers, the beginning and the end.
extension Check {
    static let beginnings = [
        Check("a Hello without the initiator's bit, to a listener", "A party accepts a `Hello` without the bit.") {
            let frames = try await exchange(greeting: RawPeer.greeting(features: 0), RawPeer.frame(11, [1]), count: 1)
            #expect(frames.first?.kind == 12)
        },
        Check(
            "two initiators that do not say so",
            "both believe to be the initiator, they exchange `Hello`s and go on"
        ) {
            let (raw, connection) = try await initiator(features: 2)
            raw.send(11, [1])
            let answer = try await onThread { raw.read()?.kind }
            #expect(answer == 12)
            // The other one asks for memory, which only an initiator may do.
            raw.send(17, [])
            let last = try await onThread { raw.readToEnd().last }
            #expect(last?.kind == 16 && last?.body.dropFirst().first == 5)
            _ = await connection.ended
        },
        Check(
            "two initiators, one of which says so",
            "1, the sender is the initiator, for which another initiator is an error"
        ) {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 1))
            await expectCode(.protocolViolation) {
                _ = try await RawPeerConnection.adopt(ours, isInitiator: true, Connection.Configuration.patient)
            }
            let last = try await onThread { raw.readToEnd().last }
            #expect(last?.kind == 16 && last?.body.dropFirst().first == 5)
        },
        Check(
            "no side sends its Hello first",
            "if both wait for the other's `Hello`, each refuses with reason 7 when its time is over."
        ) {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            var configuration = Connection.Configuration()
            configuration.handshakeTimeout = .milliseconds(100)
            await expectCode(.handshakeTimeout) {
                _ = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
            }
            let frames = try await onThread { raw.readToEnd() }
            #expect(frames.map(\.kind) == [16] && frames.first?.body.dropFirst().first == 7)
        },
        Check("no message bytes granted", "Every party accepts 4,096 bytes, even if it says less") {
            let frames = try await exchange(
                greeting: RawPeer.greeting(message: 0), RawPeer.frame(2, root), count: 1)
            // It is not refused because of its size.
            #expect(frames.first?.kind == 3 && frames.first?.flags == 0)
        },
    ]

    static let messages = [
        Check("the first generation", "A slot's first generation is 0") {
            let frames = try await exchange(RawPeer.frame(2, root), count: 1)
            // Question 0, and one reference: of the sender, slot 1, generation 0.
            #expect(frames.first?.kind == 3 && frames.first?.body.prefix(5) == [0, 1, 1, 1, 0])
        },
        Check("the largest numbers that are allowed", "All other `n` have 64.") {
            let frames = try await exchange(RawPeer.frame(11, RawPeer.number(.max)), count: 1)
            #expect(frames.first?.kind == 12 && frames.first?.body == RawPeer.number(.max))
        },
        Check("a number longer than needed", "Longer forms than needed are accepted.") {
            let frames = try await exchange(RawPeer.frame(11, [0x85, 0x80, 0]), count: 1)
            #expect(frames.first?.kind == 12 && frames.first?.body == [5])
        },
        Check("more pings than a party has unanswered", "It answers pings at once, and does not count them") {
            let count: UInt64 = 1_000
            let pings = (0..<count).flatMap { RawPeer.frame(11, RawPeer.number($0)) }
            let frames = try await exchange(pings, count: Int(count))
            #expect(frames.map(\.kind) == [UInt8](repeating: 12, count: Int(count)))
            #expect(frames.map(\.body) == (0..<count).map(RawPeer.number))
        },
        Check(
            "pings whose answers are not read",
            "more than 1,024 `Pong`s of its own that are not written yet are an error of reason 6"
        ) {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting())
            let connection = try await RawPeerConnection.adopt(
                ours, isInitiator: false, Connection.Configuration.patient)
            let pings = (0..<4_096).flatMap { RawPeer.frame(11, RawPeer.number($0)) }
            let flood = Task { try await onThread { while raw.canSend { raw.send(pings) } } }
            guard case .protocolViolation(let text) = await connection.ended else {
                Issue.record("it was not refused")
                return
            }
            #expect(text.contains("1024"))
            try await flood.value
        },
    ]

    static let endings = [
        Check(
            "frames behind a goodbye", "Frames that come after the other's `Goodbye` are processed as if"
        ) {
            let frames = try await exchange(RawPeer.frame(16, [1, 0, 0]) + RawPeer.frame(11, [7]), ends: true)
            #expect(frames.map(\.kind) == [12, 16])
        },
        Check(
            "what a goodbye's watermark counts",
            "The watermark counts openers, including `Hello` and the other's `Goodbye`, but no continuations."
        ) {
            let opener = RawPeer.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + RawPeer.call())
            let pieces = [(0, 0), (0, 1), (1, 0x80)].flatMap { (flags: UInt8, byte: UInt8) in
                RawPeer.frame(255, flags: flags, [2, 0, 0, 0, 0, 0, 0, 0, byte])
            }
            let frames = try await exchange(opener + pieces + RawPeer.frame(16, [1, 0, 0]), ends: true)
            #expect(frames.last?.kind == 16 && frames.last?.body == [3, 0, 0])
        },
        Check("what comes behind our own goodbye", "but runs none of the calls.") {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 1))
            let connection = try await RawPeerConnection.adopt(
                ours, isInitiator: false, Connection.Configuration.patient)
            connection.vend(Directory())
            async let closed = connection.close(timeout: TestTimeout.wait)
            let frames = try await onThread { () -> [RawPeer.Frame] in
                let first = [raw.read(), raw.read()].compactMap { $0 }
                raw.send(RawPeer.frame(2, root) + RawPeer.frame(16, [2, 0, 0]))
                raw.finishSending()
                return first + raw.readToEnd()
            }
            #expect(frames.map(\.kind) == [1, 16])
            _ = await closed
            #expect(connection.statistics.isAtRest)
        },
        Check(
            "a peer that does not answer a goodbye",
            "this implementation cuts the connection after 5 seconds by default."
        ) {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 1))
            let connection = try await RawPeerConnection.adopt(
                ours, isInitiator: false, Connection.Configuration.patient)
            await connection.close(timeout: .milliseconds(200))
            let kinds = try await onThread { raw.readToEnd().map(\.kind) }
            #expect(kinds == [1, 16])
        },
        Check(
            "a peer that says goodbye and stays",
            "although the other has sent its own and waits for nothing, is cut off after a time, 5 seconds here."
        ) { try await GoodbyeTests().heldOpen() },
    ]

    /// A request to the root directory for the root named "".
    private static let root = RawPeer.call(body: [0, 1, 0x80])

    /// A connection that is the initiator, and its peer, which has exchanged `Hello`s with it.
    private static func initiator(features: UInt64) async throws -> (RawPeer, Connection) {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        raw.send(1, RawPeer.greeting(features: features))
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: true, Connection.Configuration.patient)
        _ = try await onThread { raw.read() == nil }
        return (raw, connection)
    }
}
